//! Commands with mistakes: what they say, and that they leave nothing behind.

use std::process::{Command, Stdio};

use sealcast::cli;
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Program, home, publish, sealcast, watch, write_private};

/// Words of a programmer, in no message about a value.
const JARGON: [&str; 9] = [
    "u16", "u32", "u64", "i64", "nonzero", "syntax", "digit", "parse", "os error",
];

/// Runs a command in a home. Returns its exit code, and what it said on standard error.
fn run(home: &std::path::Path, words: &[&str]) -> (i32, String) {
    let output = sealcast(home).args(words).current_dir(home).output().expect("it runs");
    let said = String::from_utf8(output.stderr).expect("text");
    (output.status.code().unwrap_or(-1), said)
}

#[test]
fn a_wrong_value_of_any_option_is_refused_in_words() {
    fn below(command: &clap::Command, before: &[String], refused: &mut usize) {
        let flags = command
            .get_arguments()
            .filter(|arg| arg.get_num_args().is_none_or(|range| range.takes_values()));
        for flag in flags.filter_map(clap::Arg::get_long) {
            for wrong in ["", "0", "-1", "ten", "10x", "1.5", "99999999999999999999", "::1"] {
                let words = before.iter().cloned().chain([format!("--{flag}={wrong}")]);
                let Err(error) = cli::command().try_get_matches_from(words) else {
                    continue;
                };
                let said = error.to_string();
                if said.starts_with("error: invalid value") {
                    *refused += 1;
                    assert!(
                        !JARGON.iter().any(|word| said.contains(word)),
                        "{before:?} --{flag}={wrong}: {said}"
                    );
                }
            }
        }
        for command in command.get_subcommands() {
            let words = [before, &[command.get_name().to_owned()]].concat();
            below(command, &words, refused);
        }
    }
    let mut program = cli::command();
    program.build();
    let mut refused = 0;
    below(&program, &["sealcast".to_owned()], &mut refused);
    assert!(refused > 100, "only {refused} values were refused");
}

#[test]
fn a_mistake_is_said_in_words_that_tell_what_to_type() {
    let home = home();
    for (file, text) in [("empty", ""), ("blank", "\n\n"), ("behind", "\nsealcast://x\n")] {
        write_private(&home.path().join(file), text);
    }
    write_private(&home.path().join("zero.toml"), "[publish]\nmax_viewers = 0\n");
    for (line, code, words) in [
        ("watch", 2, &["sealcast watch @FILE"][..]),
        ("gateway viewer", 2, &["sealcast gateway viewer --peer @FILE"]),
        ("archive record", 2, &["sealcast archive record @FILE DIR"]),
        ("watch @", 7, &["no file is named", "@ticket.txt"]),
        ("publish test: --to @", 7, &["no file is named"]),
        ("watch @empty", 7, &["empty is empty"]),
        ("watch @blank", 7, &["blank is empty"]),
        ("watch @behind", 7, &["that is no ticket"]),
        ("watch @.", 7, &[". is a directory"]),
        ("watch http://127.0.0.1:9880/?token=abc", 7, &["open it in a browser"]),
        (
            "watch --seconds 10x",
            2,
            &["as in 200ms", "Usage: sealcast watch [OPTIONS]"],
        ),
        (
            "gateway viewer --rtsp here",
            2,
            &["127.0.0.1:9554", "Usage: sealcast gateway viewer"],
        ),
        ("invite --uses 0", 2, &["from 1 to 12288", "Usage: sealcast invite"]),
        (
            "config check zero.toml",
            8,
            &["line 2, column 15", "from 1 to 4294967295"],
        ),
        ("doctor rtsp://", 2, &["rtsp://USER:PASSWORD@HOST"]),
        ("doctor file:away.mp4", 3, &["(source)"]),
        ("publish test: --listen tcp://localhost:1", 2, &["in numbers"]),
    ] {
        let (found, said) = run(home.path(), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(found, code, "{line}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{line}: {said}");
    }
}

#[test]
fn a_command_that_is_wrong_makes_nothing_on_the_disk() {
    let home = home();
    write_private(&home.path().join("none"), "no ticket\n");
    for line in [
        "watch nothing",
        "watch @none",
        "watch @away",
        "watch @none --to nowhere:",
        "watch --listen here",
        "watch --web here",
        "watch --listen tcp://127.0.0.1:0 --to nowhere:",
        "watch --listen tcp://127.0.0.1:0 --suite none",
        "watch --listen tcp://127.0.0.1:0 --metrics 0.0.0.0:1",
        "gateway viewer --peer @none",
        "archive record @none folder",
        "probe @none",
        "gateway camera --camera x",
        "gateway camera --camera rtsp://192.0.2.1/ --listen here",
        "publish test:64",
        "publish clip.mp4",
        "publish test: --listen here",
        "publish test: --also-listen here",
        "publish test: --web here",
        "publish test: --to @none",
        "publish test: --relay here",
        "publish test: --sign all",
        "publish test: --suite none",
        "publish test: --mech none",
        "publish test: --encrypt some",
        "publish test: --shape small",
        "publish test: --unit slice",
        "publish test: --rekey-seconds 0",
        "publish test: --invite-hours 0",
        "publish test: --meter none:",
        "publish test: --metrics 0.0.0.0:1",
    ] {
        let (code, said) = run(home.path(), &line.split(' ').collect::<Vec<_>>());
        assert!([2, 7, 8].contains(&code), "{line}: {code}, {said}");
        let left = std::fs::read_dir(home.path()).expect("a folder").count();
        assert_eq!(left, 1, "{line} left something: {said}");
    }
}

#[test]
fn config_check_says_which_file_it_read_and_that_it_has_no_mistakes() {
    let home = home();
    write_private(&home.path().join("right.toml"), "[publish]\nmax_viewers = 3\n");
    for (line, words) in [
        ("config check right.toml", "right.toml has no mistakes"),
        ("config check --config right.toml", "right.toml has no mistakes"),
        ("config check", "no FILE is named"),
    ] {
        let (code, said) = run(home.path(), &line.split(' ').collect::<Vec<_>>());
        assert!(code == 0 && said.contains(words), "{line}: {said}");
    }
}

#[test]
fn each_v_says_more() {
    let home = home();
    let lines = ["", "-v", "-vv"].map(|more| {
        let words = [
            "publish",
            "test:160x120@5",
            "--listen",
            "tcp://127.0.0.1:0",
            "--seconds",
            "1s",
        ];
        let mut command = sealcast(home.path());
        command.args(words).args((!more.is_empty()).then_some(more));
        let output = command.stdout(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(
            said.contains("option=\"publish.listen\""),
            !more.is_empty(),
            "{more}: {said}"
        );
        assert_eq!(
            said.contains("a picture of the source"),
            more == "-vv",
            "{more}: {said}"
        );
        said.lines().count()
    });
    assert!(lines[0] < lines[1] && lines[1] < lines[2], "{lines:?}");
}

#[test]
fn a_recording_ends_with_its_sum() {
    let home = home();
    let publisher = publish(home.path(), "test:160x120@25", &[]);
    for (to, words) in [
        ("file:one.mp4", "recorded to one.mp4: "),
        ("file:many/%H-%M-%S.mp4?segment=1s", "recorded from many/"),
    ] {
        let mut command = sealcast(home.path());
        command
            .args(["watch", &publisher.ticket, "--to", to, "--seconds", "4s"])
            .current_dir(home.path());
        let mut viewer = Program::run("the viewer", command);
        viewer.succeeds(PATIENCE);
        let said = viewer.said();
        let sum = said
            .lines()
            .find_map(|line| line.split_once(words))
            .unwrap_or_else(|| panic!("{said}"));
        assert!(
            sum.1.contains(" s, ") && sum.1.contains(" pictures") && sum.1.ends_with("kB"),
            "{sum:?}"
        );
        // The files are named, and not the pattern of their names.
        assert!(!sum.1.contains('%'), "{sum:?}");
    }
}

#[test]
fn a_service_starts_again_with_its_ticket_file_after_the_ticket_was_used() {
    let home = home();
    let file = home.path().join("ticket");
    let begun = || {
        let mut command: Command = sealcast(home.path());
        command.args([
            "publish",
            "test:160x120@5",
            "--listen",
            "tcp://127.0.0.1:0",
            "--ticket-file",
            path(&file),
        ]);
        let publisher = Program::run("the publisher", command);
        publisher.says("publishing", PATIENCE);
        (publisher, std::fs::read_to_string(&file).expect("a ticket"))
    };
    let (publisher, first) = begun();
    let mut viewer = watch(home.path(), first.trim(), &["--to", "null:", "--seconds", "1s"]);
    viewer.succeeds(PATIENCE);
    drop(publisher);
    let (publisher, second) = begun();
    assert!(
        publisher.said().contains("in place of an older one") && first != second,
        "{}",
        publisher.said()
    );
}
