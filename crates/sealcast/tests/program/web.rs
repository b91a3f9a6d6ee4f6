//! `--web`: the links that are handed out, and what cannot be served. The page itself is tested in `web/test/page`.

use std::net::{TcpListener, UdpSocket};

use sealcast_proto::wire::{Ticket, TransportKind};
use sealcast_testkit::attack::Home;

const CARD: &str = "publish test:160x120@10 --listen tcp://127.0.0.1:0 --ticket-file -";

/// The ticket in a page's link.
fn ticket_of(link: &str) -> Ticket {
    let (_, fragment) = link.split_once('#').expect("a fragment");
    fragment.replace("%23", "#").parse().expect("a ticket")
}

fn fails(home: &Home, arguments: &str) -> (i32, String) {
    let output = home
        .command()
        .args(arguments.split_whitespace())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().expect("it ends"), said)
}

#[test]
fn a_publisher_hands_out_a_ticket_and_a_link_with_an_invite_each() {
    let home = Home::new();
    let mut program = home.start(&format!("{CARD} --web https://127.0.0.1:0 --advertise camera.example"));
    let (ticket, link) = (program.ticket(), program.page_link());
    let (ticket, page): (Ticket, _) = (ticket.parse().expect("a ticket"), ticket_of(&link));
    assert!(link.starts_with("https://camera.example:"), "{link}");
    assert!(page.peer == ticket.peer && page.transport == TransportKind::Https);
    assert!(
        page.invite.is_some() && page.invite != ticket.invite,
        "one invite admits one"
    );
    assert_eq!(page.cert_hashes.len(), 2);
    program.says("fingerprint=");
    let said = program.said();
    let fingerprint = said
        .split("fingerprint=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    assert_eq!(fingerprint.map_or(0, |words| words.split(' ').count()), 6, "{said}");
    let hashes = page.cert_hashes;
    assert_eq!(program.stop(), 0);

    let mut again = home.start(&format!("{CARD} --web https://127.0.0.1:0"));
    assert!(
        ticket_of(&again.page_link()).cert_hashes == hashes,
        "a restart changes no certificate"
    );
    assert_eq!(again.stop(), 0);
}

#[test]
fn a_viewer_that_listens_for_browsers_alone_hands_out_a_link_to_publish() {
    let home = Home::new();
    let mut program = home.start("watch --web http://127.0.0.1:0 --to null: --ticket-file -");
    let link = program.page_link();
    assert!(link.contains("/?publish#sealcast://"), "{link}");
    assert_eq!(ticket_of(&link).transport, TransportKind::Http);
    assert_eq!(program.stop(), 0);
    let listed = std::fs::read_dir(home.path().join("viewers")).expect("its lists are kept");
    let names: Vec<String> = listed
        .map(|entry| entry.expect("read").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["http-127.0.0.1-0"]);
}

#[test]
fn a_program_watches_with_the_link_to_a_page() {
    let home = Home::new();
    for page in ["http://127.0.0.1:0", "https://127.0.0.1:0"] {
        let mut publisher = home.start(&format!("{CARD} --web {page}"));
        let link = publisher.page_link();
        let viewer = Home::new();
        let mut watching = viewer.start(&format!("watch {link} --to file:out.h264?overwrite --seconds 3"));
        assert_eq!(watching.ends(), 0, "{page}: {}", watching.said());
        let recorded = std::fs::metadata(viewer.file("out.h264")).expect("a recording").len();
        assert!(recorded > 0, "{page}: {}", watching.said());
        assert_eq!(publisher.stop(), 0);
    }
}

#[test]
fn a_program_publishes_with_the_link_to_a_page() {
    let home = Home::new();
    let mut viewer = home.start("watch --web https://127.0.0.1:0 --to file:out.h264 --ticket-file -");
    let link = viewer.page_link();
    let camera = Home::new();
    let mut publisher = camera.start(&format!("publish test:160x120@10 --to {link} --seconds 3"));
    assert_eq!(publisher.ends(), 0, "{}", publisher.said());
    assert_eq!(viewer.stop(), 0);
    let recorded = std::fs::metadata(home.file("out.h264")).expect("a recording").len();
    assert!(recorded > 0, "{}", viewer.said());
}

#[test]
fn what_cannot_be_served_is_said_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let tcp = taken.local_addr().expect("bound").port();
    let taken_udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let udp = taken_udp.local_addr().expect("bound").port();
    let home = Home::new();
    for (web, code, words) in [
        (format!("http://127.0.0.1:{tcp}"), 5, "another program listens there"),
        (
            format!("https://127.0.0.1:{udp}"),
            5,
            "cannot listen at udp://127.0.0.1",
        ),
        ("http://0.0.0.0:0".to_owned(), 2, "use https:// for other machines"),
        ("ftp://127.0.0.1".to_owned(), 2, "https://ADDRESS:PORT"),
        (
            "https://127.0.0.1:0?cert=/nowhere.pem&key=/nowhere".to_owned(),
            7,
            "/nowhere.pem cannot be used",
        ),
        (
            "https://127.0.0.1:0?cert=/nowhere.pem".to_owned(),
            2,
            "?cert=FILE&key=FILE",
        ),
    ] {
        let (found, said) = fails(&home, &format!("{CARD} --web {web}"));
        assert_eq!(found, code, "{web}: {said}");
        assert!(said.contains(words), "{web}: {said}");
    }
    let (code, said) = fails(&home, "publish test: --to sealcast://x:1/y --web https://127.0.0.1:0");
    assert_eq!(code, 2, "{said}");
}
