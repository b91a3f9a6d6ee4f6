//! A player that joins a camera which others watch begins with a complete picture, and the others miss nothing.

use std::time::{Duration, Instant};

use sealcast_proto::rtsp::Method;
use sealcast_testkit::gateways::{self, Camera, FRAGMENTS, Packet, Plain, Player, film, number, pair};
use sealcast_testkit::program::{self, PATIENCE, succeeds_once};

/// Maximum time for which video is held back from a player that joins, until a keyframe arrives.
const HELD: Duration = Duration::from_secs(10);

/// True if two packets differ at most in their timestamps, which are changed in packets that were kept for a player.
fn same(one: &Packet, other: &Packet) -> bool {
    one.0 == other.0 && one.1[..4] == other.1[..4] && one.1[8..] == other.1[8..]
}

/// Checks that the received packets of a channel are consecutive packets of the film. Returns the film's index of the
/// first one, or an error that says where packets are missing.
fn run(came: &[Packet], film: &[Packet], channel: u8) -> Result<usize, String> {
    let of =
        |packets: &[Packet]| -> Vec<Packet> { packets.iter().filter(|packet| packet.0 == channel).cloned().collect() };
    let (came, film) = (of(came), of(film));
    let first = film
        .iter()
        .position(|packet| same(packet, came.first().expect("packets came")));
    let first = first.expect("a packet of the film");
    for (at, packet) in came.iter().enumerate() {
        if !same(packet, &film[(first + at) % film.len()]) {
            assert!(
                film.iter().any(|other| same(packet, other)),
                "channel {channel}: packet {at} is none of the film's"
            );
            return Err(format!(
                "channel {channel}: packet {at} after {first} is {}",
                number(packet)
            ));
        }
    }
    Ok(first)
}

/// Lets five players join, one after the other, while another one watches. Returns an error if any of them misses
/// packets.
fn join(codec: &'static str, plain: Plain) -> Result<(), String> {
    let packets = film(codec, 200);
    let camera = Camera::start(plain, packets.clone(), true);
    camera.changes_to(codec);
    let gateways = pair(&camera.url(), &[], &[]);
    let first = Player::watch(gateways.port, plain);
    let mut all = first.packets(20);
    for _ in 0..5 {
        let second = Player::watch(gateways.port, plain);
        let came = second.packets(400);
        let began = run(&came, &packets, 0)?;
        let group = if codec == "JPEG" { FRAGMENTS } else { packets.len() };
        assert_eq!(began % group, 0, "{codec} over {plain:?} begins with packet {began}");
        // Reports and sound are not held back.
        run(&came, &packets, 1)?;
        run(&came, &packets, 2)?;
    }
    all.extend(first.packets(2000));
    for channel in 0..3 {
        match run(&all, &packets, channel)? {
            0 => {}
            began => return Err(format!("{codec}: who is the first has it from packet {began} on")),
        }
    }
    Ok(())
}

#[test]
fn who_joins_begins_with_a_keyframe_and_who_was_there_misses_nothing() {
    for codec in ["H264", "H265", "JPEG"] {
        join(codec, Plain::Tcp).expect("nothing is lost on the way");
        let over_udp = || join(codec, Plain::Udp);
        assert!(
            succeeds_once(codec, over_udp),
            "{codec}: packets were missing every time"
        );
    }
}

/// The packets of the video.
fn video(packets: &[Packet]) -> Vec<Packet> {
    packets.iter().filter(|packet| packet.0 == 0).cloned().collect()
}

/// Lets players join, one after the other, while the camera sends nothing. Returns an error if that took so long that
/// the gateway took the camera for dead and called it again.
fn join_while_nothing_comes(codec: &'static str) -> Result<(), String> {
    let packets = film(codec, 200);
    let camera = Camera::start(Plain::Tcp, packets.clone(), false);
    camera.changes_to(codec);
    let gateways = pair(&camera.url(), &[], &[]);
    let first = Player::watch(gateways.port, Plain::Tcp);
    first.packets(packets.len());
    let (home, port) = (program::home(), program::free_port());
    let _other = gateways::viewer_gateway(home.path(), &gateways.camera.ticket, port, &[]);
    let film = video(&packets);
    for (port, plain) in [
        (gateways.port, Plain::Tcp),
        (gateways.port, Plain::Udp),
        (port, Plain::Tcp),
    ] {
        let came = Player::watch(port, plain).packets(film.len());
        if !came.iter().zip(&film).all(|(one, other)| same(one, other)) {
            let called_again = gateways.camera.program.said().contains("waiting for it to come back");
            assert!(called_again, "{codec} over {plain:?} is something else");
            return Err("the camera was called again".to_owned());
        }
    }
    Ok(())
}

#[test]
fn who_joins_while_a_camera_sends_nothing_has_the_group_of_pictures_so_far() {
    for codec in ["H264", "H265"] {
        let joins = || join_while_nothing_comes(codec);
        assert!(succeeds_once(codec, joins), "{codec}: it took too long every time");
    }
}

#[test]
fn a_second_viewer_gateway_begins_with_a_keyframe_too() {
    let packets = film("H264", 200);
    let camera = Camera::start(Plain::Tcp, packets.clone(), true);
    camera.changes_to("H264");
    let gateways = pair(&camera.url(), &[], &[]);
    let first = Player::watch(gateways.port, Plain::Tcp);
    first.packets(20);
    let (home, port) = (program::home(), program::free_port());
    let _other = gateways::viewer_gateway(home.path(), &gateways.camera.ticket, port, &[]);
    let second = Player::watch(port, Plain::Tcp);
    assert_eq!(run(&second.packets(400), &packets, 0), Ok(0));
    assert!(run(&first.packets(2000), &packets, 0).is_ok());
}

#[test]
fn video_without_keyframes_comes_after_ten_seconds_as_it_is() {
    let mut packets = film("H264", 200);
    // Remove the keyframe of the group.
    packets.drain(..FRAGMENTS);
    let camera = Camera::start(Plain::Tcp, packets, true);
    camera.changes_to("H264");
    let gateways = pair(&camera.url(), &[], &[]);
    let first = Player::watch(gateways.port, Plain::Tcp);
    first.packets(20);
    let mut second = Player::connect(gateways.port, "front", Plain::Tcp);
    let began = Instant::now();
    second.play();
    while second.packets(1)[0].0 != 0 {
        assert!(began.elapsed() < HELD + PATIENCE, "no video came");
    }
    assert!(began.elapsed() >= HELD, "video came after {:?}", began.elapsed());
    assert_eq!(second.ask(Method::Teardown, "", &[]).status, 200);
}
