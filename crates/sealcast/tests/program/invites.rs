//! Invites for further viewers: of a program that runs, and of one that does not; and those of each start.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use sealcast_testkit::media::path;
use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, assert_accounted, free_port, home, invite, port, publish_by, report, sealcast, until,
    watch, write_private,
};
use tempfile::TempDir;

const CARD: &str = "test:160x120@25";
const USED: &str = "this invite has been used";
const FRAMES_IN: &str = "sealcast_frames_total{dir=\"in\"}";

/// Publishes with an invite for one.
fn publish(home: &Path, listen: &str, more: &[&str]) -> Publisher {
    let mut command = sealcast(home);
    command.args(["publish", CARD, "--listen", listen]).args(more);
    publish_by(command)
}

fn local(port: u16) -> String {
    format!("tcp://127.0.0.1:{port}")
}

/// Runs a command of the program. Returns its exit code, its standard output and its standard error.
fn run(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = sealcast(home).args(arguments).output().expect("it runs");
    let [said, told] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    (output.status.code(), said, told)
}

/// The lines that inviting somebody prints.
fn invited(home: &Path, more: &[&str]) -> Vec<String> {
    let (code, said, told) = run(home, &[&["invite", "--ticket-file", "-"], more].concat());
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("invite "), "{told}");
    said.lines().map(str::to_owned).collect()
}

/// A viewer that counts frames and logs their numbers.
fn watching(ticket: &str) -> (TempDir, Program) {
    let home = home();
    let [logs, seen] = ["logs", "report.json"].map(|name| home.path().join(name));
    let observe = [
        "--log-dir",
        path(&logs),
        "--report",
        path(&seen),
        "--metrics",
        "127.0.0.1:0",
    ];
    let viewer = watch(home.path(), ticket, &[&["--to", "null:"], &observe[..]].concat());
    viewer.says("INFO watching", PATIENCE);
    (home, viewer)
}

/// A viewer comes with this ticket, and goes.
fn comes(home: &Path, ticket: &str) {
    let mut viewer = watch(home, ticket, &["--to", "null:", "--no-reconnect"]);
    viewer.says("INFO watching", PATIENCE);
    viewer.stop();
}

fn is_turned_away(ticket: &str, words: &str) {
    let home = home();
    let mut viewer = watch(home.path(), ticket, &["--to", "null:", "--no-reconnect"]);
    assert_eq!(viewer.ends(PATIENCE), 6, "{}", viewer.said());
    assert!(viewer.said().contains(words), "{}", viewer.said());
}

#[test]
fn a_second_viewer_is_invited_while_the_first_watches_and_misses_nothing() {
    let home = home();
    let mut publisher = publish(home.path(), &local(0), &[]);
    let (logs, mut first) = watching(&publisher.ticket);
    first.has_counted(FRAMES_IN, 10.0);
    is_turned_away(&publisher.ticket, USED);

    let lines = invited(home.path(), &["--label", "grandma"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (_home, mut second) = watching(&lines[0]);
    second.has_counted(FRAMES_IN, 10.0);
    is_turned_away(&lines[0], USED);
    let list = || run(home.path(), &["peers", "list"]).1;
    assert!(list().contains("grandma"), "{}", list());
    let (code, said, _) = run(home.path(), &["peers", "rename", "grandma", "Oma", "Berta"]);
    assert!(code == Some(0) && said.contains("is called Oma Berta"), "{said}");
    let (code, said, _) = run(home.path(), &["peers", "remove", "Oma Berta"]);
    assert!(code == Some(0) && said.contains("removed "), "{said}");
    assert_eq!(second.ends(PATIENCE), 6, "{}", second.said());

    let before = first.counts(FRAMES_IN);
    first.has_counted(FRAMES_IN, before + 10.0);
    first.stop();
    let mut log = csv::Reader::from_path(logs.path().join("logs/frames_latency.csv")).expect("a log");
    let rows = log
        .records()
        .map(|row| row.expect("a row")[2].parse().expect("a number"));
    assert_accounted(&rows.collect::<Vec<u64>>(), &report(&logs.path().join("report.json")));
    publisher.program.stop();
}

#[test]
fn who_is_known_comes_by_any_ticket_and_uses_up_no_invite_of_others() {
    let (own, known, other) = (home(), home(), home());
    let publisher = publish(own.path(), &local(0), &[]);
    comes(known.path(), &publisher.ticket);
    // One that nobody has used stays good for whom it is meant.
    let fresh = invited(own.path(), &["--label", "grandma"]).remove(0);
    comes(known.path(), &fresh);
    comes(other.path(), &fresh);
    // One that another has used up, one that is withdrawn, and those that were used before.
    comes(known.path(), &fresh);
    let withdrawn = invited(own.path(), &["--label", "nobody"]).remove(0);
    let again = invited(own.path(), &["--label", "nobody"]).remove(0);
    let (code, said, _) = run(own.path(), &["peers", "withdraw", "nobody"]);
    assert!(code == Some(0) && said.contains("withdrew 2 invites"), "{said}");
    for ticket in [&withdrawn, &again, &fresh, &publisher.ticket] {
        comes(known.path(), ticket);
    }
    is_turned_away(&fresh, USED);
    // A peer that was removed is not known.
    let open = invited(own.path(), &["--label", "grandma", "--uses", "2"]).remove(0);
    let (code, said, _) = run(own.path(), &["peers", "remove", "grandma"]);
    assert!(
        code == Some(0) && said.contains("1 invite for grandma can still be used"),
        "{said}"
    );
    let mut removed = watch(other.path(), &fresh, &["--to", "null:", "--no-reconnect"]);
    assert_eq!(removed.ends(PATIENCE), 6, "{}", removed.said());
    comes(other.path(), &open);
}

#[test]
fn who_was_let_in_comes_again_wherever_the_publisher_listens_now() {
    let (own, known, other) = (home(), home(), home());
    let mut tickets = Vec::new();
    for listen in ["tcp", "tcp", "udp", "quic", "tcp"] {
        let mut publisher = publish(own.path(), &format!("{listen}://127.0.0.1:0"), &[]);
        comes(known.path(), &publisher.ticket);
        // Nothing of an invite is needed any more.
        let (place, _) = publisher.ticket.split_once('#').expect("an invite");
        comes(known.path(), place);
        publisher.program.stop();
        tickets.push(publisher.ticket);
    }
    // The first invite let it in. That of the starts behind it, of which each carrier has its own, is unused.
    let [first, second, _, _, last] = &tickets[..] else {
        panic!("five starts")
    };
    assert_ne!(invite(first), invite(second));
    assert_eq!(invite(second), invite(last));
    let _publisher = publish(own.path(), &format!("tcp://127.0.0.1:{}", port(last)), &[]);
    comes(other.path(), last);
    is_turned_away(last, USED);
}

#[test]
fn an_invite_is_for_as_many_as_it_says_and_leads_to_the_page_too() {
    let home = home();
    let mut publisher = publish(home.path(), &local(0), &["--web", "http://127.0.0.1:0"]);
    let lines = invited(home.path(), &["--uses", "2", "--expires", "90m", "--label", "the two"]);
    assert!(
        lines.len() == 2 && lines[1].starts_with("http://127.0.0.1:"),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with(&format!("%23{}", invite(&lines[0]))),
        "one invite: {lines:?}"
    );
    assert_ne!(invite(&lines[0]), invite(&publisher.ticket));
    let _viewers = [watching(&lines[0]), watching(&lines[0])];
    is_turned_away(&lines[0], USED);
    let (_, list, _) = run(home.path(), &["peers", "list"]);
    assert_eq!(
        list.matches("the two").count(),
        4,
        "two peers and their sessions; their invite is used up: {list}"
    );
    for (wrong, words) in [
        (["--uses", "0"], "from 1 to"),
        (["--expires", "soon"], "no length of time"),
        (["--expires", "400d"], "a year at most"),
        (["--name", "nobody"], "there are no lists of the name nobody"),
    ] {
        let (code, said, told) = run(home.path(), &[&["invite", "--ticket-file", "-"], &wrong[..]].concat());
        assert!(
            code == Some(2) && said.is_empty() && told.contains(words),
            "{wrong:?}: {told}"
        );
    }
    publisher.program.stop();
}

#[test]
fn a_ticket_is_put_into_a_new_file_or_onto_a_terminal_and_else_no_invite_is_made() {
    let home = home();
    let mut publisher = publish(home.path(), &local(0), &[]);
    let file = home.path().join("grandma.ticket");
    let (code, said, told) = run(home.path(), &["invite", "--ticket-file", path(&file), "--qr"]);
    assert!(code == Some(0) && said.is_empty(), "{told}");
    assert!(told.contains("QR code is not shown"), "{told}");
    let ticket = fs::read_to_string(&file).expect("a ticket");
    assert!(ticket.starts_with("sealcast://") && !told.contains(invite(ticket.trim())));
    let invites = || run(home.path(), &["peers", "list"]).1.matches(" of 1 ").count();
    assert_eq!(invites(), 2);
    let gone = home.path().join("gone/ticket");
    for (more, exit) in [
        (vec![], 2),
        (vec!["--ticket-file", path(&file)], 7),
        (vec!["--ticket-file", path(&gone)], 7),
    ] {
        let (code, said, told) = run(home.path(), &[&["invite"], &more[..]].concat());
        assert!(code == Some(exit) && said.is_empty(), "{more:?}: {told}");
        assert_eq!(invites(), 2, "after {more:?}");
    }
    publisher.program.stop();
}

#[test]
fn a_code_for_a_phone_is_drawn_if_the_terminal_is_wide_enough() {
    let home = home();
    let mut publisher = publish(home.path(), &local(0), &[]);
    for (columns, drawn) in [(120, true), (30, false)] {
        let own = sealcast(home.path());
        let program = own.get_program().to_string_lossy();
        let line = format!("stty cols {columns}; {program} invite --qr");
        let mut script = Command::new("script");
        script.args(["-qefc", &line, "/dev/null"]).stdin(Stdio::null());
        script.env("SEALCAST_HOME", home.path().join("keys"));
        let output = script.output().expect("it runs");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && shown.contains("sealcast://127.0.0.1:"),
            "{shown}"
        );
        assert_eq!(shown.contains('█'), drawn, "{columns} columns: {shown}");
        assert_eq!(shown.contains("and this terminal has 30"), !drawn, "{shown}");
    }
    publisher.program.stop();
}

#[test]
fn twenty_starts_that_fail_leave_a_mailed_ticket_good_and_the_next_start_prints_it_again() {
    let home = home();
    let (listen, taken) = (local(free_port()), TcpListener::bind("127.0.0.1:0").expect("a port"));
    let taken = taken.local_addr().expect("bound").to_string();
    let mut publisher = publish(home.path(), &listen, &[]);
    let mailed = publisher.ticket.clone();
    publisher.program.stop();
    let other = home.path().join("other");
    write_private(&other, "another ticket\n");
    let occupied = format!("tcp://{taken}");
    let gone = home.path().join("gone.mp4");
    let gone = format!("file:{}", path(&gone));
    let start = |source: &str, listen: &str, more: &[&str]| {
        run(home.path(), &[&["publish", source, "--listen", listen], more].concat())
    };
    for _ in 0..5 {
        for (source, listen, more, exit) in [
            (
                CARD,
                &*listen,
                vec!["--ticket-file", path(&other), "--invite-uses", "2"],
                7,
            ),
            (CARD, &*occupied, vec![], 5),
            (&*gone, &*listen, vec![], 3),
            (CARD, &*listen, vec!["--metrics", &*taken, "--invite-hours", "3"], 5),
        ] {
            let (code, _, told) = start(source, listen, &more);
            assert_eq!(code, Some(exit), "{source} {listen} {more:?}: {told}");
        }
    }
    let file = home.path().join("ticket");
    write_private(&file, format!("{mailed}\n"));
    let mut command = sealcast(home.path());
    command.args(["publish", CARD, "--listen", &listen, "--ticket-file", path(&file)]);
    let mut again = Program::run("the publisher", command);
    again.says("the ticket is in its file already", PATIENCE);
    let (_, list, _) = run(home.path(), &["peers", "list"]);
    assert_eq!(list.matches("the ticket of each start").count(), 1, "{list}");
    let (_home, _viewer) = watching(&mailed);
    again.stop();
    let mut used = publish(home.path(), &listen, &[]);
    assert_ne!(used.ticket, mailed, "an invite that is used up is not printed again");
    used.program.stop();
}

#[test]
fn who_is_invited_while_nothing_runs_comes_to_the_next_start() {
    let home = home();
    let (code, _, told) = run(home.path(), &["invite", "--ticket-file", "-", "--name", "front"]);
    assert!(code == Some(2) && told.contains("no lists of the name front"), "{told}");
    let listen = local(free_port());
    let mut publisher = publish(home.path(), &listen, &["--name", "front"]);
    publisher.program.stop();
    let lines = invited(home.path(), &["--name", "front", "--label", "grandma"]);
    let mut publisher = publish(home.path(), &listen, &["--name", "front"]);
    assert_ne!(publisher.ticket, lines[0], "that of a start is another");
    let (_home, _viewer) = watching(&lines[0]);
    let (_, list, _) = run(home.path(), &["peers", "list", "--name", "front"]);
    assert!(list.contains("grandma"), "{list}");
    publisher.program.stop();
}

#[test]
fn one_invite_more_than_there_may_be_is_refused_in_words() {
    let home = home();
    let mut publisher = publish(home.path(), &local(0), &[]);
    let socket = home.path().join("keys/publishers/camera/control");
    let mut stream = UnixStream::connect(socket).expect("a connection");
    let mut answers = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
    let mut ask = || {
        stream.write_all(b"invite uses=1\n").expect("sent");
        let first = answers.next().expect("an answer").expect("text");
        if first == "ok 2 lines" {
            answers.by_ref().take(2).for_each(drop);
        }
        first
    };
    // That of the start is one of them.
    for number in 1..256 {
        assert_eq!(ask(), "ok 2 lines", "invite {number}");
    }
    let refused = ask();
    assert!(refused.starts_with("error: 256 invites are open already"), "{refused}");
    let (code, said, told) = run(home.path(), &["invite", "--ticket-file", "-"]);
    assert!(
        code == Some(2) && said.is_empty() && told.contains("withdraw some"),
        "{told}"
    );
    // Who uses one makes room.
    let (_home, _viewer) = watching(&publisher.ticket);
    invited(home.path(), &[]);
    publisher.program.stop();
}

#[test]
fn camera_gateways_and_listening_viewers_invite_as_publishers_do() {
    let [home, gateways, theirs] = [home(), home(), home()];
    let mut command = sealcast(gateways.path());
    command.args([
        "gateway",
        "camera",
        "--camera",
        "rtsp://127.0.0.1:9/front",
        "--no-invite",
    ]);
    let gateway = publish_by({
        command.args(["--listen", "tcp://127.0.0.1:0"]);
        command
    });
    assert!(!gateway.ticket.contains('#'));
    let lines = invited(gateways.path(), &["--label", "the club"]);
    let mut command = sealcast(theirs.path());
    command.args(["gateway", "viewer", "--peer", &lines[0], "--rtsp", "127.0.0.1:0"]);
    let linked = Program::run("the viewer gateway", command);
    linked.says("linked to the camera gateway", PATIENCE);
    assert!(run(gateways.path(), &["peers", "list"]).1.contains("the club"));

    let mut command = sealcast(home.path());
    command.args([
        "watch",
        "--listen",
        "tcp://127.0.0.1:0",
        "--ticket-file",
        "-",
        "--to",
        "null:",
        "--name",
        "wall",
    ]);
    let mut viewer = Program::run("the viewer", command);
    let own = viewer.line();
    let lines = invited(home.path(), &["--viewer", "--label", "the drone"]);
    assert_ne!(invite(&lines[0]), invite(&own));
    let mut command = sealcast(theirs.path());
    command.args(["publish", CARD, "--to", &lines[0]]);
    let _publisher = Program::run("the publisher", command);
    viewer.says("INFO watching", PATIENCE);
    let list = || run(home.path(), &["peers", "--viewer", "list"]).1;
    until("the publisher is listed", || list().contains("the drone"));
    let socket = home.path().join("keys/viewers/wall/control");
    for (command, words) in [
        ("status", "ok frames="),
        ("rekey", "command its publisher"),
        ("encrypt all", "command its publisher"),
        ("keyframe", "command its publisher"),
    ] {
        let (_, said, told) = run(home.path(), &["control", "--socket", path(&socket), command]);
        assert!(said.contains(words) || told.contains(words), "{command}: {said}{told}");
    }
    viewer.stop();
    assert!(!socket.exists());
}

#[test]
fn who_goes_to_its_viewer_itself_invites_nobody() {
    let [home, theirs] = [home(), home()];
    let mut command = sealcast(theirs.path());
    command.args([
        "watch",
        "--listen",
        "tcp://127.0.0.1:0",
        "--ticket-file",
        "-",
        "--to",
        "null:",
    ]);
    let viewer = Program::run("the viewer", command);
    let mut command = sealcast(home.path());
    command.args(["publish", CARD, "--to", &viewer.line()]);
    let publisher = Program::run("the publisher", command);
    publisher.says("a viewer watches", PATIENCE);
    let (code, said, told) = run(home.path(), &["invite", "--ticket-file", "-"]);
    assert!(
        code == Some(2) && said.is_empty() && told.contains("nobody comes to this program"),
        "{told}"
    );
}
