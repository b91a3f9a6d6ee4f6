//! Delivery of what is published.

use crate::client::{CONNECTED, Client, GONE, KEYS, Message, PRESENT, PROOFS, VIDEO};
use crate::relay::Relay;

/// An object that no other is like.
fn object(track: u8, group: u64, place: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![track, group as u8, place as u8];
    // Bytes that differ everywhere, so that a piece in the wrong place is found.
    bytes.extend((0..length).map(|at| (at * 31 + at / 251 + place * 7 + group as usize) as u8));
    bytes
}

/// The objects of a group: of one track of a picture, as large as they are in practice, and empty ones.
fn group(track: u8, number: u64) -> Vec<Vec<u8>> {
    let lengths: &[usize] = match track {
        VIDEO => &[70_000, 0, 1, 1_199, 1_200, 4_096, 300_000, 16, 17, 65_536],
        KEYS => &[200, 0],
        _ => &[96],
    };
    let objects = lengths.iter().enumerate();
    objects
        .map(|(place, length)| object(track, number, place, *length))
        .collect()
}

fn messages(track: u8, number: u64) -> Vec<Message> {
    let objects = group(track, number).into_iter();
    let objects = objects.map(|bytes| Message::Object(track, bytes));
    std::iter::once(Message::Group(track, number)).chain(objects).collect()
}

fn send(publisher: &mut Client, track: u8, number: u64) {
    publisher.send_group(track, number);
    for bytes in group(track, number) {
        publisher.send_object(track, &bytes);
    }
}

/// Sends groups one at a time, since a watcher begins with the newest one.
fn carry(publisher: &mut Client, watcher: &mut Client, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        for track in [VIDEO, KEYS, PROOFS] {
            send(publisher, track, number);
            watcher.expect(&messages(track, number));
        }
    }
}

#[test]
fn objects_of_three_tracks_arrive_bit_for_bit_and_in_order() {
    let relay = Relay::start("one-relay");
    let mut publisher = Client::publish(&relay, "door");
    let mut watcher = Client::watch(&relay, "door");
    publisher.wait_for(CONNECTED);
    watcher.wait_for(CONNECTED);
    watcher.wait_for(PRESENT);
    // Numbers need not be consecutive.
    carry(&mut publisher, &mut watcher, (0..40).step_by(3));
}

#[test]
fn objects_cross_two_relays() {
    let first = Relay::start("first-of-two");
    let second = Relay::start_beside("second-of-two", &first);
    let mut publisher = Client::publish(&first, "shows/door");
    let mut watcher = Client::watch(&second, "shows/door");
    watcher.wait_for(PRESENT);
    carry(&mut publisher, &mut watcher, 7..12);
}

#[test]
fn the_largest_object_arrives() {
    let relay = Relay::start("largest");
    let mut publisher = Client::publish(&relay, "door");
    let mut watcher = Client::watch(&relay, "door");
    watcher.wait_for(PRESENT);
    // A message of 17 MiB has a type and a track, too.
    let largest = object(VIDEO, 1, 2, (17 << 20) - 5);
    publisher.send_group(VIDEO, 1);
    publisher.send_object(VIDEO, &largest);
    watcher.expect(&[Message::Group(VIDEO, 1), Message::Object(VIDEO, largest)]);
}

#[test]
fn a_late_watcher_gets_the_newest_groups_from_their_first_objects() {
    let relay = Relay::start("late");
    let mut publisher = Client::publish(&relay, "door");
    let mut early = Client::watch(&relay, "door");
    early.wait_for(PRESENT);
    send(&mut publisher, KEYS, 3);
    early.expect(&messages(KEYS, 3));
    for number in 10..15 {
        send(&mut publisher, VIDEO, number);
        early.expect(&messages(VIDEO, number));
    }
    let mut late = Client::watch(&relay, "door");
    late.wait_for(PRESENT);
    let mut expected = [messages(VIDEO, 14), messages(KEYS, 3)].concat();
    while !expected.is_empty() {
        let found = late.next();
        let track = match &found {
            Message::Group(track, _) | Message::Object(track, _) => *track,
            _ => panic!("{found:?}"),
        };
        let of_track =
            |message: &Message| matches!(message, Message::Group(t, _) | Message::Object(t, _) if *t == track);
        let next = expected.iter().position(of_track);
        let next = next.unwrap_or_else(|| panic!("more than was published: {found:?}"));
        assert_eq!(found, expected.remove(next));
    }
    // The open group goes on for both.
    let more = object(VIDEO, 14, 99, 500);
    publisher.send_object(VIDEO, &more);
    for watcher in [&mut early, &mut late] {
        watcher.expect(&[Message::Object(VIDEO, more.clone())]);
    }
}

#[test]
fn a_watcher_that_comes_first_waits_for_the_broadcast_and_sees_it_go() {
    let relay = Relay::start("gone");
    let mut watcher = Client::watch(&relay, "door");
    watcher.wait_for(CONNECTED);
    for number in 1..3 {
        let mut publisher = Client::publish(&relay, "door");
        watcher.wait_for(PRESENT);
        send(&mut publisher, VIDEO, number);
        watcher.expect(&messages(VIDEO, number));
        let (status, log) = publisher.end();
        assert!(status.success(), "{log}");
        watcher.wait_for(GONE);
    }
    let (status, log) = watcher.end();
    assert!(status.success(), "{log}");
}
