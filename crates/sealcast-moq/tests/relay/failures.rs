//! Failures of the relay, and another relay in its place.

use crate::client::{CONNECTED, Client, DISCONNECTED, GONE, KEYS, Message, PRESENT, VIDEO};
use crate::relay::{Relay, free_port};

fn object(text: &str) -> Message {
    Message::Object(VIDEO, text.as_bytes().to_vec())
}

#[test]
fn a_relay_that_was_killed_and_starts_again_carries_on() {
    let mut relay = Relay::start("killed");
    let mut publisher = Client::publish(&relay, "door");
    let mut watcher = Client::watch(&relay, "door");
    publisher.wait_for(CONNECTED);
    watcher.wait_for(PRESENT);
    publisher.send_group(VIDEO, 1);
    publisher.send_object(VIDEO, b"before");
    watcher.expect(&[Message::Group(VIDEO, 1), object("before")]);
    relay.kill();
    publisher.wait_for(DISCONNECTED);
    watcher.wait_for(DISCONNECTED);
    relay.restart();
    publisher.wait_for(CONNECTED);
    watcher.wait_for(CONNECTED);
    watcher.wait_for(PRESENT);
    // The group that was being given is not given again, nor is the rest of it.
    publisher.send_object(VIDEO, b"lost");
    publisher.send_group(VIDEO, 2);
    publisher.send_object(VIDEO, b"after");
    watcher.expect(&[Message::Group(VIDEO, 2), object("after")]);
}

#[test]
fn a_publisher_that_was_killed_is_gone_when_its_connection_times_out() {
    let relay = Relay::start("publisher-killed");
    let publisher = Client::publish(&relay, "door");
    let mut watcher = Client::watch(&relay, "door");
    watcher.wait_for(PRESENT);
    drop(publisher);
    watcher.wait_for(GONE);
}

#[test]
fn another_publisher_takes_the_place_of_one_that_was_killed() {
    let relay = Relay::start("another-publisher");
    let mut first = Client::publish(&relay, "door");
    let mut watcher = Client::watch(&relay, "door");
    watcher.wait_for(PRESENT);
    first.send_group(VIDEO, 1);
    first.send_object(VIDEO, b"first");
    watcher.expect(&[Message::Group(VIDEO, 1), object("first")]);
    drop(first);
    let mut second = Client::publish(&relay, "door");
    second.send_group(VIDEO, 2);
    second.send_object(VIDEO, b"second");
    watcher.wait_for(GONE);
    watcher.wait_for(PRESENT);
    watcher.expect(&[Message::Group(VIDEO, 2), object("second")]);
}

#[test]
fn what_is_published_while_there_is_no_relay_arrives_later() {
    let mut relay = Relay::start("later");
    relay.kill();
    let mut publisher = Client::publish(&relay, "door");
    publisher.send_group(KEYS, 5);
    publisher.send_object(KEYS, b"key");
    publisher.wait_for(DISCONNECTED);
    relay.restart();
    publisher.wait_for(CONNECTED);
    let mut watcher = Client::watch(&relay, "door");
    watcher.wait_for(PRESENT);
    watcher.expect(&[Message::Group(KEYS, 5), Message::Object(KEYS, b"key".to_vec())]);
}

#[test]
fn a_relay_with_another_certificate_is_refused_in_words() {
    let relay = Relay::start("certificate");
    let mut watcher = Client::open("watch", &relay.url("door"), &"0".repeat(64));
    let words = watcher.wait_for(DISCONNECTED);
    assert!(words.contains("certificate"), "{words}");
    assert!(words.contains("is refused: its SHA-256 is none of the 1"), "{words}");
    // The same relay with the right one.
    Client::watch(&relay, "door").wait_for(CONNECTED);
}

#[test]
fn a_relay_that_allows_other_paths_refuses_access_in_words() {
    let relay = Relay::start_with("refused", "shows/**", "");
    for role in ["publish", "watch"] {
        let words = Client::open(role, &relay.url("other/door"), relay.sha256()).wait_for(DISCONNECTED);
        assert!(words.contains("refuses access"), "{words}");
        Client::open(role, &relay.url("shows/door"), relay.sha256()).wait_for(CONNECTED);
    }
}

#[test]
fn a_token_in_the_url_is_not_repeated() {
    let url = format!("https://127.0.0.1:{}/door?jwt=secret", free_port());
    let mut publisher = Client::open("publish", &url, &"0".repeat(64));
    let words = publisher.wait_for(DISCONNECTED);
    let (status, log) = publisher.end();
    assert!(status.success(), "{log}");
    for said in [words, log] {
        assert!(!said.contains("secret"), "{said}");
    }
}
