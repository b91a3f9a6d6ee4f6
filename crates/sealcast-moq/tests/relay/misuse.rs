//! What is not in the contract ends the program with words, never otherwise.

use crate::carrier::{Carrier, KEYS, VIDEO};

/// Nobody listens there, and nobody needs to.
const OPEN: &str = r#"{"role": "publish", "relay": "https://127.0.0.1:9/door?jwt=secret"}"#;

/// The program ended with status 2 and one line of words.
fn refused(carrier: Carrier, words: &str) {
    let (status, log) = carrier.ended();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains(words), "{log}");
    assert_eq!(own_lines(&log), 1, "{log}");
    assert!(!log.contains("secret"), "{log}");
}

/// Lines of the program itself: the libraries warn of small buffers of the system.
fn own_lines(log: &str) -> usize {
    log.lines().filter(|line| line.starts_with("sealcast-moq: ")).count()
}

fn opened() -> Carrier {
    let mut carrier = Carrier::start();
    carrier.send(1, &[OPEN.as_bytes()]);
    carrier
}

#[test]
fn an_open_message_that_is_wrong_is_refused() {
    let mut carrier = Carrier::start();
    carrier.send(1, &[br#"{"role": "publish", "relay": "http://h/door?jwt=secret"}"#]);
    refused(
        carrier,
        "open: `relay` is not https://HOST:PORT/NAME: it does not begin with https://",
    );
    let mut carrier = Carrier::start();
    carrier.send(1, &[b"\xff\xfe"]);
    refused(carrier, "open: it is not JSON");
}

#[test]
fn garbage_is_refused() {
    let mut carrier = Carrier::start();
    carrier.send_bytes(&[0x7f; 100]);
    refused(carrier, "at most 17825792 are allowed");
    let mut carrier = opened();
    carrier.send(77, &[b"?"]);
    refused(carrier, "there is no message of type 77");
    let mut carrier = opened();
    carrier.send_bytes(&[0; 4]);
    refused(carrier, "shorter than its fields");
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let mut carrier = opened();
    carrier.send_bytes(&((17 << 20) + 1_u32).to_be_bytes());
    refused(carrier, "a message has 17825793 bytes; at most 17825792 are allowed");
}

#[test]
fn messages_in_the_wrong_order_are_refused() {
    let mut carrier = Carrier::start();
    carrier.send_group(VIDEO, 1);
    refused(carrier, "the first message is not open");
    let mut carrier = opened();
    carrier.send(1, &[OPEN.as_bytes()]);
    refused(carrier, "a second open message");
    let mut carrier = opened();
    carrier.send_object(KEYS, b"key");
    refused(carrier, "an object of track keys before its first group");
    let mut carrier = opened();
    carrier.send_group(VIDEO, 4);
    carrier.send_group(VIDEO, 4);
    refused(carrier, "group 4 of track video is not higher than 4");
    let mut carrier = Carrier::start();
    carrier.send(1, &[OPEN.replace("publish", "watch").as_bytes()]);
    carrier.send_group(VIDEO, 4);
    refused(carrier, "a watching carrier takes no message after open");
}

#[test]
fn an_input_that_ends_too_early_is_told_from_one_that_ends() {
    let (status, log) = Carrier::start().end();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("the input ended before the first message"), "{log}");
    let mut carrier = opened();
    carrier.send_bytes(&[0, 0]);
    let (status, log) = carrier.end();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("the input ended within a message"), "{log}");
    let (status, log) = opened().end();
    assert!(status.success(), "{log}");
    assert_eq!(own_lines(&log), 0, "{log}");
}
