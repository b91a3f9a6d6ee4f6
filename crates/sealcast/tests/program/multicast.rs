//! Groups that are sent once to a multicast group, on the loopback interface.

use sealcast::failure::FailureKind;
use sealcast_testkit::media::{STREET, clip};
use sealcast_testkit::program::{
    MANY_USES, PATIENCE, Program, beginning, file_url, free_port, home, publish, publish_by, sealcast,
};

use super::groups::{FRAMES_IN, GROUP, frames, goes_on, is_live, watching};

const CARD: &str = "test:320x240@25";
const HEARS: &str = "it hears the multicast group";
const HEARING: &str = "sealcast_multicast_viewers";
const SENT: &str = "sealcast_multicast_datagrams_sent_total";
const SENT_ALONE: &str = "sealcast_media_packets_total{what=\"source\"}";
const REFUSED: &str = "sealcast_group_frames_refused_total";

#[test]
fn two_viewers_hear_each_record_once_and_one_over_tcp_is_sent_its_own() {
    let (own, theirs) = (home(), [home(), home(), home()]);
    let whole = own.path().join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), 2, own.path());
    let original = frames(&clip);
    let listen = format!("udp://127.0.0.1:0?multicast=239.255.7.7:{}", free_port());
    let mut command = sealcast(own.path());
    command
        .args(["publish", &format!("{}?loop", file_url(&clip)), "--listen", &listen])
        .args(["--also-listen", "tcp://127.0.0.1:0"])
        .args(GROUP)
        .args(MANY_USES);
    let mut camera = publish_by(command);
    let over_tcp = camera.program.line();
    let files: Vec<_> = theirs.iter().map(|home| home.path().join("seen.h264")).collect();
    let tickets = [&camera.ticket, &camera.ticket, &over_tcp];
    let mut viewers: Vec<Program> = theirs
        .iter()
        .zip(tickets.iter().zip(&files))
        .map(|(home, (ticket, file))| watching(home.path(), ticket, &["--to", &file_url(file)]))
        .collect();
    camera.program.says_times(HEARS, 2, PATIENCE);
    let sent = camera.program.counts(SENT);
    let before: Vec<f64> = viewers.iter().map(|viewer| viewer.counts(FRAMES_IN)).collect();
    for (viewer, before) in viewers.iter().zip(before) {
        viewer.has_counted(FRAMES_IN, before + 100.0);
        assert!(viewer.counts(REFUSED) < 1.0);
    }
    assert!(camera.program.counts(SENT) - sent > 100.0);
    for viewer in &viewers[..2] {
        assert!(viewer.counts("sealcast_multicast_records_heard_total") > 100.0);
        is_live(viewer);
    }
    assert!(viewers[2].counts("sealcast_multicast_records_heard_total") < 1.0);
    viewers.iter_mut().for_each(Program::stop);
    camera.program.stop();
    for file in &files {
        let received = frames(file);
        assert!(
            received.len() >= 100 && received.iter().all(|frame| original.contains(frame)),
            "{file:?}"
        );
    }
}

#[test]
fn a_viewer_that_cannot_join_the_group_is_sent_all_over_its_session() {
    let (own, theirs) = (home(), home());
    // The port of the multicast group is another program's, which does not share it.
    let taken = std::net::UdpSocket::bind("239.255.7.8:0").expect("an address of no machine");
    let port = taken.local_addr().expect("it is bound").port();
    let listen = format!("udp://127.0.0.1:0?multicast=239.255.7.8:{port}");
    let camera = publish(own.path(), CARD, &[&GROUP[..], &["--listen", &listen]].concat());
    let viewer = watching(theirs.path(), &camera.ticket, &["--to", "null:"]);
    viewer.says("a multicast group cannot be listened to", PATIENCE);
    goes_on(&viewer);
    assert!(camera.program.counts(SENT_ALONE) > 0.0);
    assert!(camera.program.counts(HEARING) < 1.0 && camera.program.counts(SENT) < 1.0);
}

#[test]
fn a_multicast_group_that_cannot_be_is_refused_in_words() {
    let home = home();
    let card = ["publish", CARD];
    for (arguments, words) in [
        (
            &[&card[..], &["--listen", "udp://127.0.0.1:0?multicast=239.1.2.3:5000"]].concat(),
            "add --group",
        ),
        (
            &[
                &card[..],
                &["--group", "--listen", "udp://203.0.113.5:0?multicast=239.1.2.3:5000"],
            ]
            .concat(),
            "an address of this machine",
        ),
        (
            &vec!["watch", "--listen", "udp://127.0.0.1:0?multicast=239.1.2.3:5000"],
            "a viewer sends to no multicast group",
        ),
        (
            &vec![
                "gateway",
                "camera",
                "--camera",
                "rtsp://127.0.0.1:1/",
                "--listen",
                "udp://127.0.0.1:0?multicast=239.1.2.3:5000",
            ],
            "a gateway sends to no multicast group",
        ),
    ] {
        let refused = sealcast(home.path()).args(arguments).output().expect("it runs");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains(words), "{arguments:?}: {said}");
        let codes = [FailureKind::Usage, FailureKind::Network].map(|kind| Some(kind.exit_code().into()));
        assert!(codes.contains(&refused.status.code()), "{arguments:?}: {said}");
    }
}
