//! Sessions carry bytes in both directions.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::client::{CONNECTED, Client, Message, PRESENT, VIDEO, brief};
use crate::relay::Relay;

/// Lengths of the pieces that streams are given in.
const PIECES: [usize; 9] = [1, 60, 65_536, 1_199, 0, 17, 30_001, 2, 65_535];
/// Bytes of a stream in each direction, more than are on their way at a time and than a group has.
const LENGTH: usize = 3 << 20;

/// Opens a session and returns its number at the camera.
pub(crate) fn open(camera: &mut Client, viewer: &mut Client, session: u32) -> u32 {
    viewer.send_session_open(session);
    match viewer.next_of_sessions() {
        Message::Opened(found) => assert_eq!(found, session),
        message => panic!("session {session} does not open: {}", brief(&message)),
    }
    match camera.next_of_sessions() {
        Message::Opened(number) => number,
        message => panic!("{} instead of a session", brief(&message)),
    }
}

/// Sends bytes over a session in both directions.
pub(crate) fn exchange(camera: &mut Client, at_camera: u32, viewer: &mut Client, session: u32) {
    viewer.send_session_data(session, b"challenge");
    assert_eq!(camera.wait_for_bytes(at_camera, 9), b"challenge");
    camera.send_session_data(at_camera, b"answer");
    assert_eq!(viewer.wait_for_bytes(session, 6), b"answer");
}

/// Bytes that no other stream has.
fn stream(seed: usize) -> Vec<u8> {
    (0..LENGTH)
        .map(|at| (at * 31 + at / 251 + at / 65_537 + seed * 97) as u8)
        .collect()
}

fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let lengths = PIECES.iter().cycle();
    lengths
        .map_while(|length| {
            let (piece, after) = rest.split_at_checked(*length).unwrap_or((rest, &[]));
            let ended = rest.is_empty();
            rest = after;
            (!ended).then_some(piece)
        })
        .collect()
}

/// Reads what a client says until it has said so many bytes of sessions and objects, all of them of track video.
fn hear(client: &mut Client, mut bytes: usize, mut objects: usize) -> (HashMap<u32, Vec<u8>>, Vec<Vec<u8>>) {
    let (mut sessions, mut video) = (HashMap::<u32, Vec<u8>>::new(), Vec::new());
    while bytes > 0 || objects > 0 {
        match client.next() {
            Message::Data(session, piece) => {
                assert!((1..=65_536).contains(&piece.len()), "{}", piece.len());
                bytes = bytes.checked_sub(piece.len()).expect("more bytes than were sent");
                sessions.entry(session).or_default().extend(piece);
            }
            Message::Object(VIDEO, object) => {
                objects -= 1;
                video.push(object);
            }
            message => panic!("{}", brief(&message)),
        }
    }
    (sessions, video)
}

/// Two viewers with two sessions each, and video, all at once.
fn carry(camera: &mut Client, viewers: &mut [Client; 2]) {
    let mut sessions = Vec::new();
    camera.send_group(VIDEO, 1);
    camera.send_object(VIDEO, b"first");
    for (place, viewer) in viewers.iter_mut().enumerate() {
        viewer.wait_for(PRESENT);
        viewer.expect(&[Message::Group(VIDEO, 1), Message::Object(VIDEO, b"first".to_vec())]);
        for session in [7, u32::MAX] {
            sessions.push((place, session, open(camera, viewer, session)));
        }
    }
    let numbers: Vec<u32> = sessions.iter().map(|(.., number)| *number).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let up: Vec<Vec<u8>> = (0..sessions.len()).map(stream).collect();
    let down: Vec<Vec<u8>> = (10..10 + sessions.len()).map(stream).collect();
    let (up_pieces, down_pieces) = (
        up.iter().map(|bytes| pieces(bytes)),
        down.iter().map(|bytes| pieces(bytes)),
    );
    let streams: Vec<_> = up_pieces.zip(down_pieces).collect();
    let mut video = Vec::new();
    for at in 0..streams[0].0.len() {
        for ((place, session, number), (up, down)) in sessions.iter().zip(&streams) {
            viewers[*place].send_session_data(*session, up[at]);
            camera.send_session_data(*number, down[at]);
        }
        let object = vec![at as u8; 5_000];
        camera.send_object(VIDEO, &object);
        video.push(object);
    }
    let (at_camera, _) = hear(camera, sessions.len() * LENGTH, 0);
    let at_viewers = viewers.each_mut().map(|viewer| hear(viewer, 2 * LENGTH, video.len()));
    for (at, (place, session, number)) in sessions.iter().enumerate() {
        assert!(at_camera[number] == up[at], "session {number} of the camera");
        assert!(
            at_viewers[*place].0[session] == down[at],
            "session {session} of viewer {place}"
        );
    }
    for (_, found) in &at_viewers {
        assert!(*found == video, "video beside the sessions");
    }
}

#[test]
fn bytes_go_both_ways_whole_and_in_order_beside_media() {
    let relay = Relay::start("sessions");
    let mut camera = Client::publish(&relay, "door");
    let mut viewers = [Client::watch(&relay, "door"), Client::watch(&relay, "door")];
    camera.wait_for(CONNECTED);
    carry(&mut camera, &mut viewers);
}

#[test]
fn sessions_cross_two_relays_from_either_side() {
    let first = Relay::start("sessions-first");
    let second = Relay::start_beside("sessions-second", &first);
    for (name, camera_at, viewers_at) in [("shows/down", &first, &second), ("shows/up", &second, &first)] {
        let mut camera = Client::publish(camera_at, name);
        let mut viewers = [Client::watch(viewers_at, name), Client::watch(viewers_at, name)];
        camera.wait_for(CONNECTED);
        carry(&mut camera, &mut viewers);
    }
}

#[test]
fn what_is_sent_before_a_session_is_open_arrives() {
    let relay = Relay::start("sessions-early");
    let mut camera = Client::publish(&relay, "door");
    let mut viewer = Client::watch(&relay, "door");
    viewer.wait_for(PRESENT);
    viewer.send_session_open(1);
    viewer.send_session_data(1, b"hello");
    assert_eq!(camera.next_of_sessions(), Message::Opened(0));
    assert_eq!(camera.wait_for_bytes(0, 5), b"hello");
}

#[test]
fn a_viewer_whose_output_nobody_reads_holds_up_neither_media_nor_other_sessions() {
    let relay = Relay::start("sessions-unread");
    let mut camera = Client::publish(&relay, "door");
    let mut viewer = Client::watch(&relay, "door");
    viewer.wait_for(PRESENT);
    let mut unread = Client::watch_unread(&relay, "door");
    unread.send_session_open(1);
    assert_eq!(camera.next_of_sessions(), Message::Opened(0));
    let number = open(&mut camera, &mut viewer, 1);
    let piece = [7; 65_536];
    for at in 0..128_u64 {
        if at == 32 {
            // Most of what the first session was given waits.
            exchange(&mut camera, number, &mut viewer, 1);
            camera.send_group(VIDEO, 1);
            camera.send_object(VIDEO, b"picture");
            viewer.expect(&[Message::Group(VIDEO, 1), Message::Object(VIDEO, b"picture".to_vec())]);
        }
        camera.send_session_data(0, &piece);
    }
    let (bytes, words) = camera.wait_for_end(0);
    assert!(
        bytes.is_empty() && words.contains("more than 4 MiB wait for it"),
        "{words}"
    );
    exchange(&mut camera, number, &mut viewer, 1);
    camera.send_object(VIDEO, b"next");
    viewer.expect(&[Message::Object(VIDEO, b"next".to_vec())]);
}

/// Prints how long it takes, and judges nothing: that depends on the machine.
#[test]
fn round_trips_of_a_challenge_are_measured() {
    let first = Relay::start("sessions-round-trips");
    let second = Relay::start_beside("sessions-round-trips-beside", &first);
    let mut camera = Client::publish(&first, "door");
    camera.wait_for(CONNECTED);
    for (relay, relays) in [(&first, "one relay"), (&second, "two relays")] {
        let mut viewer = Client::watch(relay, "door");
        viewer.wait_for(PRESENT);
        let number = open(&mut camera, &mut viewer, 1);
        let mut times: Vec<Duration> = (0..500)
            .map(|_| {
                let since = Instant::now();
                viewer.send_session_data(1, &[1; 60]);
                let challenge = camera.wait_for_bytes(number, 60);
                camera.send_session_data(number, &challenge);
                assert_eq!(viewer.wait_for_bytes(1, 60), challenge);
                since.elapsed()
            })
            .collect();
        times.sort();
        let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("round trip of 60 bytes through {relays} on this machine: p50 {p50:?}, p99 {p99:?}");
        viewer.send_session_close(1);
        assert_eq!(camera.wait_for_end(number).1, "the other end closed it");
    }
}
