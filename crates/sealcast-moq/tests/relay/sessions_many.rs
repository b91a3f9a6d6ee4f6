//! Sessions of many viewers, and of such as do not keep to the document.

use crate::client::{CONNECTED, Client, Message, PRESENT};
use crate::relay::Relay;
use crate::sessions::{exchange, open};
use crate::viewer::{Session, Viewer, piece, taken};

/// The camera's bound.
const MAX_SESSIONS: u32 = 1024;

#[test]
fn a_thousand_sessions_are_served_and_one_more_is_left_alone() {
    let relay = Relay::start("many");
    let mut camera = Client::publish(&relay, "door");
    camera.wait_for(CONNECTED);
    let viewer = Viewer::connect(&relay, "door");
    let mut sessions: Vec<Session> = (0..MAX_SESSIONS)
        .map(|number| {
            let session = viewer.open(number.into()).unwrap();
            assert_eq!(camera.next(), Message::Opened(number));
            session
        })
        .collect();
    assert!(viewer.open(MAX_SESSIONS.into()).is_err());
    for number in [0, 1, 511, MAX_SESSIONS - 1] {
        let session = &mut sessions[number as usize];
        session.send(1, &[&piece(b"challenge")]);
        assert_eq!(camera.next(), Message::Data(number, b"challenge".to_vec()));
        camera.send_session_data(number, b"answer");
        assert_eq!(viewer.next(session), piece(b"answer"));
    }
    sessions.remove(511);
    let (_, words) = camera.wait_for_end(511);
    assert!(words.contains("the viewer is gone"), "{words}");
    // Its place is free. The camera never gives a number twice.
    let _next = viewer.open(u128::MAX).unwrap();
    assert_eq!(camera.next(), Message::Opened(MAX_SESSIONS));
    let (status, log) = camera.end();
    assert!(status.success(), "{log}");
    assert!(
        log.contains("there are 1024 sessions: 1 more viewers were left alone"),
        "{log}"
    );
}

#[test]
fn a_viewer_that_sends_what_is_not_of_a_session_loses_that_session_and_no_other() {
    let relay = Relay::start("hostile");
    let mut camera = Client::publish(&relay, "door");
    let mut honest = Client::watch(&relay, "door");
    honest.wait_for(PRESENT);
    assert_eq!(open(&mut camera, &mut honest, 1), 0);
    let viewer = Viewer::connect(&relay, "door");
    let (unintelligible, lost) = ("what is not of a session", "bytes of it were lost");
    let too_many = vec![taken(0); 1025];
    let too_many: Vec<&[u8]> = too_many.iter().map(Vec::as_slice).collect();
    let too_long = piece(&[0; 65_537]);
    let cases: [(&[&[u8]], &str); 7] = [
        (&[&[]], unintelligible),
        (&[&[3]], unintelligible),
        (&[&[1]], unintelligible),
        (&[&too_long], unintelligible),
        (&too_many, unintelligible),
        (&[&taken(1)], "took 1 pieces of 0"),
        (&[&[2]], "the other end closed it"),
    ];
    for (number, (objects, expected)) in (1..).zip(cases) {
        let session = viewer.open(number.into()).unwrap();
        assert_eq!(camera.next_of_sessions(), Message::Opened(number));
        session.send(1, objects);
        let (bytes, words) = camera.wait_for_end(number);
        assert!(bytes.is_empty() && words.contains(expected), "{number}: {words}");
        exchange(&mut camera, 0, &mut honest, 1);
    }
    // A group is missing.
    let session = viewer.open(8).unwrap();
    assert_eq!(camera.next_of_sessions(), Message::Opened(8));
    session.send(1, &[&piece(b"whole")]);
    assert_eq!(camera.wait_for_bytes(8, 5), b"whole");
    for number in 3..12 {
        session.send(number, &[&piece(b"early")]);
    }
    let (bytes, words) = camera.wait_for_end(8);
    assert!(bytes.is_empty() && words.contains(lost), "{words}");
    exchange(&mut camera, 0, &mut honest, 1);
}

#[test]
fn a_fifth_session_of_a_viewer_is_closed_in_words() {
    let relay = Relay::start("fifth");
    let mut camera = Client::publish(&relay, "door");
    let mut viewer = Client::watch(&relay, "door");
    viewer.wait_for(PRESENT);
    for session in 0..4 {
        open(&mut camera, &mut viewer, session);
    }
    viewer.send_session_open(4);
    assert_eq!(
        viewer.next_of_sessions(),
        Message::Closed(4, "there are already 4 sessions".to_owned())
    );
    exchange(&mut camera, 3, &mut viewer, 3);
}
