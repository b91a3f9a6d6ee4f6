//! How things end between a camera and its players, how long that takes at most, and how they begin again.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::{Message, MessageReader, Method};
use sealcast_testkit::gateways::{
    self, Camera, FRAGMENTS, Heard, Packet, Pair, Plain, Player, camera_gateway, film, pair, viewer_gateway,
};
use sealcast_testkit::program::{self, PATIENCE, free_port, home};
use socket2::{Domain, SockAddr, Socket, Type};

/// How long anything that is to end at once may take on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);
/// What the camera gateway says when those who watched go on.
const BACK: &str = "the camera is back: who watched goes on";

/// A camera of few packets that never stops, and gateways before it.
fn endless(plain: Plain) -> (Camera, Pair) {
    let camera = Camera::start(plain, vec![(0, vec![1; 500]), (2, vec![2; 300])], true);
    let gateways = pair(&camera.url(), &[], &[]);
    (camera, gateways)
}

/// What happened so long after `began` happened in time, and not before.
fn assert_within(began: Instant, seconds: Range<u64>) {
    let took = began.elapsed();
    assert!(
        seconds.contains(&took.as_secs()),
        "{took:?} where {seconds:?} s were promised"
    );
}

/// Watch until packets come.
fn watching(gateways: &Pair, plain: Plain) -> Player {
    let player = Player::watch(gateways.port, plain);
    player.packets(20);
    player
}

#[test]
fn a_camera_that_hangs_up_and_is_back_at_once_goes_on_for_the_same_players() {
    for plain in [Plain::Tcp, Plain::Udp] {
        let (camera, gateways) = endless(plain);
        let mut players = [Plain::Tcp, Plain::Udp].map(|plain| watching(&gateways, plain));
        camera.hang_up();
        gateways.camera.program.says(BACK, AT_ONCE);
        for player in &mut players {
            assert!(player.receives(), "{plain:?}");
            assert_eq!(player.ask(Method::Teardown, "", &[]).status, 200);
        }
        camera.hears(&Heard::Asked("TEARDOWN".to_owned()));
    }
}

#[test]
fn a_camera_that_lost_its_power_and_is_back_goes_on_for_the_same_players() {
    let (camera, gateways) = endless(Plain::Tcp);
    let player = watching(&gateways, Plain::Tcp);
    let began = Instant::now();
    camera.falls_silent();
    gateways.camera.program.says(BACK, PATIENCE + AT_ONCE);
    assert_within(began, 9..25);
    assert!(player.receives());
}

#[test]
fn a_camera_that_comes_back_as_another_ends_its_players() {
    let (camera, gateways) = endless(Plain::Tcp);
    let player = watching(&gateways, Plain::Tcp);
    camera.changes_to("H265");
    camera.hang_up();
    assert!(player.is_ended(AT_ONCE), "the player knows the camera as it was");
    watching(&gateways, Plain::Udp);
}

#[test]
fn a_camera_that_does_not_come_back_ends_its_players_half_a_minute_after_its_last_packet() {
    let (camera, gateways) = endless(Plain::Udp);
    let player = watching(&gateways, Plain::Tcp);
    let began = Instant::now();
    camera.goes();
    assert!(player.is_ended(Duration::from_secs(40)));
    assert_within(began, 29..36);
}

#[test]
fn who_leaves_while_the_camera_is_away_is_not_waited_for() {
    let (camera, gateways) = endless(Plain::Tcp);
    let player = watching(&gateways, Plain::Tcp);
    camera.goes();
    gateways.camera.program.says("waiting for it to come back", AT_ONCE);
    player.hang_up();
    // Nobody watched it any more, so who comes now is told soon that it is away.
    thread::sleep(Duration::from_secs(1));
    let mut next = Player::connect(gateways.port, "front", Plain::Tcp);
    let began = Instant::now();
    assert_eq!(next.ask(Method::Describe, "", &[]).status, 503);
    assert_within(began, 4..8);
}

#[test]
fn a_player_over_udp_that_falls_silent_is_given_up_after_a_minute() {
    let (camera, gateways) = endless(Plain::Tcp);
    let player = watching(&gateways, Plain::Udp);
    let began = Instant::now();
    assert!(player.is_ended(Duration::from_secs(70)));
    assert_within(began, 59..66);
    camera.hears(&Heard::Asked("TEARDOWN".to_owned()));
}

#[test]
fn a_viewer_gateway_that_is_killed_frees_its_players_and_its_successor_serves_them() {
    let camera = Camera::start(Plain::Tcp, vec![(0, vec![1; 500])], true);
    let (near, far, port) = (home(), home(), free_port());
    let gateway = camera_gateway(near.path(), &camera.url(), &[]);
    let mut first = viewer_gateway(far.path(), &gateway.ticket, port, &[]);
    for plain in [Plain::Tcp, Plain::Udp] {
        let player = Player::watch(port, plain);
        player.packets(20);
        first.signal("KILL");
        first.ends(PATIENCE);
        assert!(player.is_ended(AT_ONCE), "the player is not left waiting");
        camera.hears(&Heard::Asked("TEARDOWN".to_owned()));
        first = viewer_gateway(far.path(), &gateway.ticket, port, &[]);
        Player::watch(port, plain).packets(20);
    }
}

/// Send a stranger's bytes, one more each second, until the other end hangs up.
fn drip(port: u16, bytes: &[u8]) {
    let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    stranger
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("not zero");
    for byte in bytes.chunks(1) {
        let gone = stranger.write_all(byte).is_err();
        // What it says before it goes is not looked at.
        if gone || matches!(stranger.read(&mut [0; 512]), Ok(0)) {
            return;
        }
    }
    panic!("the stranger was let to say everything");
}

#[test]
fn strangers_who_say_half_of_something_are_cut_off_and_disturb_nobody() {
    let (_camera, gateways) = endless(Plain::Tcp);
    let player = watching(&gateways, Plain::Tcp);
    let (sealed, began) = (program::port(&gateways.camera.ticket), Instant::now());
    thread::scope(|scope| {
        scope.spawn(|| {
            drip(gateways.port, b"DESCRIBE rtsp://127.0.0.1:554/front RTSP/1.0\r\n");
            assert_within(began, 9..14);
        });
        scope.spawn(|| {
            drip(sealed, &[[0, 0, 4, 0].as_slice(), &[1; 30]].concat());
            assert_within(began, 4..9);
        });
    });
    assert!(player.receives());
    watching(&gateways, Plain::Udp);
}

/// What a player over TCP reads that takes `chunk` bytes each 20 ms for so long.
fn read_slowly(gateways: &Pair, chunk: usize, time: Duration) -> Vec<Packet> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(32 << 10).expect("room");
    let address = std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, gateways.port));
    socket.connect(&SockAddr::from(address)).expect("it listens");
    let mut stream = TcpStream::from(socket);
    let (mut reader, mut session, mut packets) = (MessageReader::default(), String::new(), Vec::new());
    let url = gateways.url();
    let mut ask = |stream: &mut TcpStream, reader: &mut MessageReader, request: &str| {
        write!(
            stream,
            "{request} RTSP/1.0\r\nCSeq: 1\r\n{session}Transport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n"
        )
        .expect("asked");
        loop {
            if let Some(Message::Response(response)) = reader.next_message().expect("RTSP") {
                assert_eq!(response.status, 200, "{request}");
                let named = response.headers.get("Session").and_then(|name| name.split(';').next());
                session = named.map_or_else(String::new, |name| format!("Session: {name}\r\n"));
                return;
            }
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).expect("answered");
            reader.push(&buffer[..length]).expect("RTSP");
        }
    };
    for request in [
        format!("DESCRIBE {url}"),
        format!("SETUP {url}/track0"),
        format!("PLAY {url}"),
    ] {
        ask(&mut stream, &mut reader, &request);
    }
    let (began, mut buffer) = (Instant::now(), vec![0; chunk]);
    while began.elapsed() < time {
        stream
            .read_exact(&mut buffer)
            .expect("it is served as long as it reads");
        reader.push(&buffer).expect("RTSP");
        while let Some(message) = reader.next_message().expect("RTSP") {
            if let Message::Data { channel, bytes } = message {
                packets.push((channel, bytes));
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    packets
}

#[test]
fn a_player_that_reads_too_slowly_is_not_cut_off_and_loses_whole_pictures() {
    let packets = film("JPEG", 1200);
    let camera = Camera::start(Plain::Tcp, packets.clone(), true);
    camera.changes_to("JPEG");
    let gateways = pair(&camera.url(), &[], &[]);
    let came = read_slowly(&gateways, 16 << 10, Duration::from_secs(15));
    let video: Vec<usize> = came
        .iter()
        .filter(|packet| packet.0 == 0)
        .map(gateways::number)
        .collect();
    let numbers: Vec<usize> = packets
        .iter()
        .filter(|packet| packet.0 == 0)
        .map(gateways::number)
        .collect();
    let place = |number: &usize| {
        numbers
            .iter()
            .position(|other| other == number)
            .expect("one of the film's")
    };
    let mut gaps = 0;
    for pair in video.windows(2) {
        let (before, after) = (place(&pair[0]), place(&pair[1]));
        if after != (before + 1) % numbers.len() {
            gaps += 1;
            assert_eq!(after % FRAGMENTS, 0, "it goes on in the middle of a picture");
        }
    }
    assert!(gaps > 0, "it was fast enough for all {} packets", video.len());
}
