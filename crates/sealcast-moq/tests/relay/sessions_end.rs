//! Ends of sessions, of which both ends hear.

use crate::client::{CONNECTED, Client, DISCONNECTED, GONE, Message, PRESENT};
use crate::relay::Relay;
use crate::sessions::{exchange, open};

/// A relay, a camera, and a viewer with session 1, which is 0 at the camera.
fn opened(test: &str) -> (Relay, Client, Client) {
    let relay = Relay::start(test);
    let mut camera = Client::publish(&relay, "door");
    camera.wait_for(CONNECTED);
    let mut viewer = Client::watch(&relay, "door");
    viewer.wait_for(PRESENT);
    assert_eq!(open(&mut camera, &mut viewer, 1), 0);
    (relay, camera, viewer)
}

#[test]
fn who_closes_a_session_is_answered_and_the_other_end_gets_all_bytes_first() {
    let (_relay, mut camera, mut viewer) = opened("end-closed");
    let last = vec![3; 60_000];
    for _ in 0..20 {
        viewer.send_session_data(1, &last);
    }
    viewer.send_session_close(1);
    viewer.send_session_data(1, b"too late");
    let (bytes, words) = viewer.wait_for_end(1);
    assert_eq!((bytes.len(), words.as_str()), (0, "sealcast closed it"));
    let (bytes, words) = camera.wait_for_end(0);
    assert!(bytes == last.repeat(20), "{} bytes", bytes.len());
    assert_eq!(words, "the other end closed it");
    // What crosses with the end, or is for no session, is ignored.
    camera.send_session_data(0, b"crossed");
    camera.send_session_close(0);
    camera.send_session_data(77, b"of no session");
    viewer.send_session_close(77);
    assert_eq!(open(&mut camera, &mut viewer, 2), 1);
    for _ in 0..20 {
        camera.send_session_data(1, &last);
    }
    camera.send_session_close(1);
    let (bytes, words) = viewer.wait_for_end(2);
    assert!(
        bytes == last.repeat(20) && words == "the other end closed it",
        "{words}"
    );
    assert_eq!(camera.wait_for_end(1).1, "sealcast closed it");
}

#[test]
fn a_viewer_that_ends_or_is_killed_is_gone_and_the_next_one_is_served() {
    let (relay, mut camera, viewer) = opened("end-viewer");
    let (status, log) = viewer.end();
    assert!(status.success(), "{log}");
    let (_, words) = camera.wait_for_end(0);
    assert!(words.contains("the viewer is gone"), "{words}");
    let mut viewer = Client::watch(&relay, "door");
    viewer.wait_for(PRESENT);
    assert_eq!(open(&mut camera, &mut viewer, 1), 1);
    drop(viewer);
    let (_, words) = camera.wait_for_end(1);
    assert!(words.contains("the viewer is gone"), "{words}");
}

#[test]
fn a_camera_that_ends_is_gone_and_the_next_one_gets_the_next_session() {
    let (relay, camera, mut viewer) = opened("end-camera");
    let (status, log) = camera.end();
    assert!(status.success(), "{log}");
    let mut words = String::new();
    let mut is_gone = false;
    while words.is_empty() || !is_gone {
        match viewer.next() {
            Message::Closed(1, why) => words = why,
            Message::State(GONE, _) => is_gone = true,
            message => panic!("{message:?}"),
        }
    }
    assert!(words.contains("the camera is gone"), "{words}");
    let mut camera = Client::publish(&relay, "door");
    viewer.wait_for(PRESENT);
    let number = open(&mut camera, &mut viewer, 2);
    exchange(&mut camera, number, &mut viewer, 2);
}

#[test]
fn a_camera_that_was_killed_is_gone_when_its_connection_times_out() {
    let (_relay, camera, mut viewer) = opened("end-camera-killed");
    drop(camera);
    let (_, words) = viewer.wait_for_end(1);
    assert!(words.contains("the camera is gone"), "{words}");
}

#[test]
fn a_relay_that_was_killed_ends_the_sessions_at_both_ends_and_new_ones_open_when_it_is_back() {
    let (mut relay, mut camera, mut viewer) = opened("end-relay");
    relay.kill();
    for (client, session) in [(&mut camera, 0), (&mut viewer, 1)] {
        let (_, words) = client.wait_for_end(session);
        assert_eq!(words, "the connection to the relay broke");
        client.wait_for(DISCONNECTED);
    }
    relay.restart();
    camera.wait_for(CONNECTED);
    viewer.wait_for(PRESENT);
    let number = open(&mut camera, &mut viewer, 2);
    assert_eq!(number, 1);
    exchange(&mut camera, number, &mut viewer, 2);
}

#[test]
fn a_relay_on_the_way_that_was_killed_ends_the_session_at_both_ends() {
    let mut first = Relay::start("end-first-relay");
    let second = Relay::start_beside("end-second-relay", &first);
    let mut camera = Client::publish(&first, "door");
    camera.wait_for(CONNECTED);
    let mut viewer = Client::watch(&second, "door");
    viewer.wait_for(PRESENT);
    let number = open(&mut camera, &mut viewer, 1);
    first.kill();
    let (_, words) = camera.wait_for_end(number);
    assert_eq!(words, "the connection to the relay broke");
    let (_, words) = viewer.wait_for_end(1);
    assert!(words.contains("the camera is gone"), "{words}");
    first.restart();
    camera.wait_for(CONNECTED);
    viewer.collect_until(PRESENT);
    let number = open(&mut camera, &mut viewer, 2);
    exchange(&mut camera, number, &mut viewer, 2);
}

#[test]
fn a_session_with_a_camera_that_is_not_there_is_closed_in_words() {
    let relay = Relay::start("end-nobody");
    let mut viewer = Client::watch(&relay, "door");
    viewer.wait_for(CONNECTED);
    viewer.send_session_open(1);
    let (_, words) = viewer.wait_for_end(1);
    assert_eq!(words, "broadcast door is not at the relay");
}

#[test]
fn a_session_without_a_relay_is_closed_in_words() {
    let mut relay = Relay::start("end-no-relay");
    relay.kill();
    let mut viewer = Client::watch(&relay, "door");
    viewer.send_session_open(1);
    let (_, words) = viewer.wait_for_end(1);
    assert!(words.contains("there is no connection to the relay"), "{words}");
}

/// The camera is at a relay that lets it publish, and the viewer at one that lets it do so nowhere, or elsewhere.
#[test]
fn a_relay_that_does_not_let_the_viewer_publish_is_named_in_words() {
    let first = Relay::start("end-all-rights");
    let _camera = Client::publish(&first, "cameras/door");
    let cluster = first.cluster();
    for (test, right, expected) in [
        (
            "end-no-right",
            "",
            "the relay does not let this viewer publish door/viewers/...",
        ),
        (
            "end-other-right",
            "\"cameras/*\"",
            "must let this viewer publish door/viewers/...",
        ),
    ] {
        let rights = format!("public_subscribe = [\"**\"]\npublic_publish = [{right}]\n{cluster}");
        let second = Relay::start_with(test, "unused/**", &rights);
        let mut viewer = Client::watch(&second, "cameras/door");
        viewer.wait_for(PRESENT);
        viewer.send_session_open(1);
        let (_, words) = viewer.wait_for_end(1);
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn a_relay_that_does_not_take_the_camera_refuses_it_in_words() {
    let rights = "public_subscribe = [\"**\"]\n";
    let relay = Relay::start_with("end-no-camera", "unused/**", rights);
    let words = Client::publish(&relay, "door").wait_for(DISCONNECTED);
    assert!(words.contains("refuses access"), "{words}");
}
