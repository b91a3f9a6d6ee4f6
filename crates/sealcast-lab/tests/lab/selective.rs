//! Output and files of `sealcast-lab selective`. Times have no upper bounds here, since they depend on the machine.

use std::path::Path;

use crate::output::{Line, line, record, run, table, value};

/// The built-in definition with short sessions and small packets, in a file of its own.
fn definition(folder: &Path, change: impl Fn(String) -> String) -> String {
    let built_in = include_str!("../../definitions/selective.toml");
    let short = [
        ("packets = 75", "packets = 40"),
        ("packets_per_second = 30.0", "packets_per_second = 100.0"),
    ];
    let mut text = built_in.to_owned();
    for (from, to) in short {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let path = folder.join("mine.toml");
    std::fs::write(&path, change(text)).expect("written");
    path.to_str().expect("a path").to_owned()
}

fn measured(only: &str) -> (tempfile::TempDir, Vec<Line>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mine = definition(folder.path(), |text| text);
    let (code, said) = run(["run", &mine, "--quick", "--only", only], folder.path());
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&folder.path().join("table.csv"));
    (folder, lines)
}

#[test]
fn a_session_is_sent_between_two_processes_and_each_end_says_what_it_cost() {
    let (folder, lines) = measured("32-characters,rate-25,rate-75,all,none,plain");
    let of = |system: &str, column: &str| value(line(&lines, "32-characters", system), column);
    for system in ["rate-25", "rate-75", "all", "none", "plain"] {
        // Every packet came, was opened, and was the one that was sent: otherwise the turn fails.
        assert_eq!(of(system, "packets"), 40.0, "{system}");
        // Figures of a session are those of the 500 packets of the paper.
        for (whole, each) in [("enc_ms", "enc_packet_ms"), ("dec_ms", "dec_packet_ms")] {
            assert!(of(system, whole) > 0.0, "{system}");
            assert!(
                (of(system, whole) - 500.0 * of(system, each)).abs() < 1e-9 * of(system, whole).max(1.0),
                "{system}"
            );
        }
        assert!(of(system, "make_ms") < of(system, "enc_ms"), "{system}");
        assert!(of(system, "set_up_us") > 0.0, "{system}");
        for end in ["sender", "receiver"] {
            let memory = of(system, &format!("{end}_memory_mb"));
            // The pictures alone are more than two megabytes.
            assert!(
                memory > 2.0 && of(system, &format!("{end}_more_mb")) < memory,
                "{system}, {end}"
            );
            let cpu = ["low_percent", "percent", "high_percent"].map(|name| of(system, &format!("{end}_cpu_{name}")));
            assert!(cpu.is_sorted() && cpu[0] >= 0.0, "{system}, {end}: {cpu:?}");
        }
    }
    let shares = ["none", "rate-25", "rate-75", "all"].map(|system| of(system, "encrypted"));
    assert_eq!((shares[0], shares[3]), (0.0, 1.0));
    assert!(
        0.0 < shares[1] && shares[1] < shares[2] && shares[2] < 1.0,
        "the same draws: {shares:?}"
    );
    // Packets of one kind have times of their own, and there are none of the other.
    let all = line(&lines, "32-characters", "all");
    assert!(
        value(all, "seal_encrypted_us") > 0.0 && all["seal_clear_us"].is_empty(),
        "{all:?}"
    );
    let none = line(&lines, "32-characters", "none");
    assert!(
        value(none, "open_clear_us") > 0.0 && none["open_encrypted_us"].is_empty(),
        "{none:?}"
    );
    let times = of("rate-25", "enc_ms") / of("all", "enc_ms");
    assert!(
        (of("rate-25", "times_all") - times).abs() < 1e-9,
        "beside `all` in the same round"
    );

    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    assert!(
        page.contains("paper 002, 75 %") && page.contains("38.8"),
        "the paper's values beside ours"
    );
    assert!(page.contains("bytes as JPEG, padded to 95000"), "what a packet is");
}

#[test]
fn the_length_of_the_key_changes_nothing_that_is_drawn() {
    let (folder, lines) = measured("rate-50");
    let shares = ["8-characters", "16-characters", "32-characters"]
        .map(|case| line(&lines, case, "rate-50")["encrypted"].clone());
    assert!(shares.iter().all(|share| *share == shares[0]), "{shares:?}");
    assert_eq!(
        record(folder.path()).len(),
        4,
        "a head and three turns: the others are of one case alone"
    );
}

#[test]
fn a_definition_that_no_session_can_have_is_refused_before_anything_is_measured() {
    for (from, to, words) in [
        ("quality = 91", "quality = 100", "choose a lower quality"),
        ("rate:25", "rate:250", "`rate:250` is no share of packets"),
        ("key_characters = 8", "key_characters = 0", "1 to 64 characters"),
        ("width = 1280", "width = 1281", "cannot be drawn in 1281x720"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mine = definition(folder.path(), |text| text.replace(from, to));
        let (code, said) = run(["run", &mine, "--quick", "--rounds", "1"], folder.path());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!said.contains("round 1"), "{said}");
    }
}
