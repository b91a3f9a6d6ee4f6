//! Violations of the contract, which end the program with words, never otherwise.

use crate::client::{Client, KEYS, VIDEO};

/// Nobody listens there, and nobody needs to.
const OPEN: &str = r#"{"role": "publish", "relay": "https://127.0.0.1:9/door?jwt=secret"}"#;

/// The program ended with status 2 and one line of words.
fn refused(client: Client, words: &str) {
    let (status, log) = client.ended();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains(words), "{log}");
    assert_eq!(own_lines(&log), 1, "{log}");
    assert!(!log.contains("secret"), "{log}");
}

/// Lines of the program itself: the libraries warn of small buffers of the system.
fn own_lines(log: &str) -> usize {
    log.lines().filter(|line| line.starts_with("sealcast-moq: ")).count()
}

fn opened() -> Client {
    let mut client = Client::start();
    client.send(1, &[OPEN.as_bytes()]);
    client
}

#[test]
fn an_open_message_that_is_wrong_is_refused() {
    let mut client = Client::start();
    client.send(1, &[br#"{"role": "publish", "relay": "http://h/door?jwt=secret"}"#]);
    refused(
        client,
        "open: `relay` is not https://HOST:PORT/NAME: it does not begin with https://",
    );
    let mut client = Client::start();
    client.send(1, &[b"\xff\xfe"]);
    refused(client, "open: it is not JSON");
}

#[test]
fn garbage_is_refused() {
    let mut client = Client::start();
    client.send_bytes(&[0x7f; 100]);
    refused(client, "at most 17825792 are allowed");
    let mut client = opened();
    client.send(77, &[b"?"]);
    refused(client, "there is no message of type 77");
    let mut client = opened();
    client.send_bytes(&[0; 4]);
    refused(client, "shorter than its fields");
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let mut client = opened();
    client.send_bytes(&((17 << 20) + 1_u32).to_be_bytes());
    refused(client, "a message has 17825793 bytes; at most 17825792 are allowed");
}

#[test]
fn messages_in_the_wrong_order_are_refused() {
    let mut client = Client::start();
    client.send_group(VIDEO, 1);
    refused(client, "the first message is not open");
    let mut client = opened();
    client.send(1, &[OPEN.as_bytes()]);
    refused(client, "a second open message");
    let mut client = opened();
    client.send_object(KEYS, b"key");
    refused(client, "an object of track keys before its first group");
    let mut client = opened();
    client.send_group(VIDEO, 4);
    client.send_group(VIDEO, 4);
    refused(client, "group 4 of track video is not higher than 4");
    let mut client = Client::start();
    client.send(1, &[OPEN.replace("publish", "watch").as_bytes()]);
    client.send_group(VIDEO, 4);
    refused(client, "a watching client takes no groups and no objects");
}

#[test]
fn sessions_that_are_used_wrongly_are_refused() {
    let mut camera = opened();
    // Those of no session are none of it.
    camera.send_session_data(3, b"crossed");
    camera.send_session_close(3);
    camera.send_session_open(3);
    refused(camera, "a publishing client opens no sessions");
    let watching = || {
        let mut client = Client::start();
        client.send(1, &[OPEN.replace("publish", "watch").as_bytes()]);
        client.send_session_open(5);
        client
    };
    let mut viewer = watching();
    viewer.send_session_close(5);
    viewer.send_session_open(5);
    refused(viewer, "session 5 is opened a second time");
    let mut viewer = watching();
    viewer.send_session_data(5, &[0; 65_537]);
    refused(viewer, "a message has 65542 bytes; at most 65541 are allowed");
    let mut viewer = watching();
    viewer.send(4, &[&[0; 5]]);
    refused(viewer, "longer than its fields");
    let mut viewer = watching();
    viewer.send(6, &[&[0; 3]]);
    refused(viewer, "shorter than its fields");
}

#[test]
fn an_input_that_ends_too_early_is_told_from_one_that_ends() {
    let (status, log) = Client::start().end();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("the input ended before the first message"), "{log}");
    let mut client = opened();
    client.send_bytes(&[0, 0]);
    let (status, log) = client.end();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("the input ended within a message"), "{log}");
    let (status, log) = opened().end();
    assert!(status.success(), "{log}");
    assert_eq!(own_lines(&log), 0, "{log}");
}
