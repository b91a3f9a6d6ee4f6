//! Ends of connections between cameras, gateways and players, never before their timeouts, and how they resume.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::{Message, MessageReader, Method};
use sealcast_testkit::gateways::{
    self, Camera, FRAGMENTS, Heard, Packet, Pair, Plain, Player, camera_gateway, film, pair, viewer_gateway,
};
use sealcast_testkit::media::path;
use sealcast_testkit::program::{self, PATIENCE, free_port, home, succeeds_once};
use socket2::{Domain, SockAddr, Socket, Type};

/// Printed by the camera gateway when the players that were watching receive packets again.
const BACK: &str = "the camera is on again: who watched goes on";

/// A camera that sends a few packets over and over, and a pair of gateways for it.
fn endless(plain: Plain) -> (Camera, Pair) {
    let camera = Camera::start(plain, vec![(0, vec![1; 500]), (2, vec![2; 300])], true);
    let gateways = pair(&camera.url(), &[], &[]);
    (camera, gateways)
}

/// Fails if less than `seconds` have passed since `began`.
fn assert_after(began: Instant, seconds: u64) {
    let took = began.elapsed();
    assert!(
        took >= Duration::from_secs(seconds),
        "{took:?} where {seconds} s were promised"
    );
}

/// Time limit for something for which the program itself waits `seconds`.
fn after(seconds: u64) -> Duration {
    PATIENCE + Duration::from_secs(seconds)
}

/// Starts a player and waits until packets arrive.
fn watching(gateways: &Pair, plain: Plain) -> Player {
    let player = Player::watch(gateways.port, plain);
    player.packets(20);
    player
}

/// The phases in a gateway's log of the running stream, in their order.
fn phases(logs: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(logs.join("steady_stream.csv")).expect("a log");
    let rows = log.lines().skip(1);
    let mut phases: Vec<String> = rows.filter_map(|row| Some(row.split(',').nth(1)?.to_owned())).collect();
    phases.dedup();
    phases
}

#[test]
fn a_session_of_gateways_is_a_handshake_first_in_the_logs_of_both() {
    let camera = Camera::start(Plain::Tcp, vec![(0, vec![1; 500])], true);
    let homes = [home(), home()];
    let [at_camera, at_viewer] = [0, 1].map(|end: usize| homes[end].path().join("logs"));
    let mut gateway = camera_gateway(homes[0].path(), &camera.url(), &["--log-dir", path(&at_camera)]);
    let logs = ["--log-dir", path(&at_viewer)];
    let mut viewer = viewer_gateway(homes[1].path(), &gateway.ticket, free_port(), &logs);
    gateway.program.says("a viewer gateway is here", PATIENCE);
    viewer.stop();
    gateway.program.stop();
    for logs in [&at_camera, &at_viewer] {
        let phases = phases(logs);
        assert!(
            phases.starts_with(&["idle", "handshake", "steady"].map(str::to_owned)),
            "{phases:?}"
        );
    }
}

#[test]
fn a_camera_that_hangs_up_and_is_back_at_once_goes_on_for_the_same_players() {
    for plain in [Plain::Tcp, Plain::Udp] {
        let (camera, gateways) = endless(plain);
        let mut players = [Plain::Tcp, Plain::Udp].map(|plain| watching(&gateways, plain));
        camera.hang_up();
        gateways.camera.program.says(BACK, PATIENCE);
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
    gateways.camera.program.says(BACK, after(20));
    assert_after(began, 10);
    let said = gateways.camera.program.said();
    let noticed = "the camera sent nothing for 10 s: waiting for it to come back";
    assert!(said.find(noticed) < said.find(BACK) && said.contains(noticed), "{said}");
    assert!(player.receives());
}

#[test]
fn a_camera_that_comes_back_as_another_ends_its_players() {
    let (camera, gateways) = endless(Plain::Tcp);
    let player = watching(&gateways, Plain::Tcp);
    camera.changes_to("H265");
    camera.hang_up();
    assert!(player.is_ended(PATIENCE), "the player knows the camera as it was");
    let why = "the camera came back with another description";
    gateways.camera.program.says(why, PATIENCE);
    watching(&gateways, Plain::Udp);
}

#[test]
fn a_camera_that_does_not_come_back_ends_its_players_half_a_minute_after_its_last_packet() {
    let (camera, gateways) = endless(Plain::Udp);
    let began = Instant::now();
    let player = watching(&gateways, Plain::Tcp);
    camera.goes();
    assert!(player.is_ended(after(30)));
    assert_after(began, 30);
    let program = &gateways.camera.program;
    program.says("waiting for it to come back", PATIENCE);
    program.says("cannot be reached", PATIENCE);
}

#[test]
fn who_leaves_while_the_camera_is_away_is_not_waited_for() {
    let leaves = || {
        let (camera, gateways) = endless(Plain::Tcp);
        let player = watching(&gateways, Plain::Tcp);
        camera.goes();
        gateways.camera.program.says("waiting for it to come back", PATIENCE);
        player.hang_up();
        // The gateway prints that the player left, or that its connection broke.
        gateways.viewer.says(" the player", PATIENCE);
        // Nobody watches the camera any more, so a new player is told after 5 s that it is away. If the camera gateway
        // still waited for the camera, no answer would come within 10 s, and the viewer gateway would send its own.
        let mut next = Player::connect(gateways.port, "front", Plain::Tcp);
        let began = Instant::now();
        match next.ask(Method::Describe, "", &[]).status {
            503 => {
                assert_after(began, 4);
                Ok(())
            }
            other => Err(format!("the answer was {other}")),
        }
    };
    assert!(succeeds_once("a camera that is away", leaves), "it is still waited for");
}

#[test]
fn a_player_over_udp_that_falls_silent_is_given_up_after_a_minute() {
    let (camera, gateways) = endless(Plain::Tcp);
    let began = Instant::now();
    let player = watching(&gateways, Plain::Udp);
    assert!(player.is_ended(after(60)));
    assert_after(began, 60);
    gateways
        .viewer
        .says("nothing was heard from the player for 60 s", PATIENCE);
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
        assert!(player.is_ended(PATIENCE), "the player is not left waiting");
        camera.hears(&Heard::Asked("TEARDOWN".to_owned()));
        first = viewer_gateway(far.path(), &gateway.ticket, port, &[]);
        Player::watch(port, plain).packets(20);
    }
}

/// Connects without authentication and sends one byte per second, until the other end closes the connection.
fn drip(port: u16, bytes: &[u8]) {
    let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    stranger
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("not zero");
    for byte in bytes.chunks(1) {
        let gone = stranger.write_all(byte).is_err();
        // An answer before the end is ignored.
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
            let request = format!("DESCRIBE rtsp://127.0.0.1:554/{}", "x".repeat(100));
            drip(gateways.port, request.as_bytes());
            assert_after(began, 9);
        });
        scope.spawn(|| {
            drip(sealed, &[[0, 0, 4, 0].as_slice(), &[1; 100]].concat());
            assert_after(began, 4);
        });
    });
    assert!(player.receives());
    watching(&gateways, Plain::Udp);
}

/// Returns the packets of a player over TCP that reads `chunk` bytes every 20 ms. It reads until it has `enough`, and
/// for longer than it would be served if it read nothing.
fn read_slowly(gateways: &Pair, chunk: usize, enough: impl Fn(&[Packet]) -> bool) -> Vec<Packet> {
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
    while began.elapsed() < Duration::from_secs(12) || !enough(&packets) {
        assert!(
            began.elapsed() < after(60),
            "it was fast enough for all {} packets",
            packets.len()
        );
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
    let video = |packets: &[Packet]| -> Vec<usize> {
        let video = packets.iter().filter(|packet| packet.0 == 0);
        video.map(gateways::number).collect()
    };
    let numbers = video(&packets);
    let place = |number: &usize| {
        numbers
            .iter()
            .position(|other| other == number)
            .expect("one of the film's")
    };
    // The place in the film of the first packet after each gap.
    let gaps = |came: &[Packet]| -> Vec<usize> {
        let places: Vec<usize> = video(came).iter().map(place).collect();
        let gaps = places
            .windows(2)
            .filter(|pair| pair[1] != (pair[0] + 1) % numbers.len());
        gaps.map(|pair| pair[1]).collect()
    };
    let came = read_slowly(&gateways, 16 << 10, |came| !gaps(came).is_empty());
    for place in gaps(&came) {
        assert_eq!(place % FRAGMENTS, 0, "it goes on in the middle of a picture");
    }
}
