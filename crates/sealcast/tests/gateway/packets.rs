//! Packets between a camera and players through both gateways: they arrive bit for bit as they were sent, and nothing
//! remains of a player that left. The test implements camera and players itself, so that every byte is known.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use sealcast_proto::rtsp::Method;
use sealcast_testkit::gateways::{Camera, Heard, Packet, Pair, Plain, Player, camera_gateway, pair, viewer_gateway};
use sealcast_testkit::media;
use sealcast_testkit::program::{PATIENCE, free_port, home, number, report, sealcast, succeeds_once};

/// Packets of two tracks, of all lengths up to `longest`, with pseudo-random bytes.
fn packets(count: usize, longest: usize) -> Vec<Packet> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let packet = |at: usize| {
        let length = match at % 10 {
            0 => 1,
            1 => longest,
            _ => 1 + next() as usize % longest.min(1500),
        };
        let channel = (next() % 4) as u8;
        (channel, (0..length).map(|_| next() as u8).collect())
    };
    (0..count).map(packet).collect()
}

/// The packets of each channel in their order. Datagrams of different sockets have no order among each other.
fn by_channel(packets: &[Packet]) -> Vec<Vec<&[u8]>> {
    let of = |channel: u8| packets.iter().filter(move |packet| packet.0 == channel);
    (0..4)
        .map(|channel| of(channel).map(|packet| &packet.1[..]).collect())
        .collect()
}

fn assert_exact(camera: Plain, player: Plain, listen: &str, unit: &[&str]) {
    let what = format!("{camera:?} camera, {player:?} player, {listen} {unit:?}");
    let carried = || carry(camera, player, listen, unit);
    assert!(succeeds_once(&what, carried), "{what}: datagrams were lost every time");
}

/// Carries packets of a camera to a player, and checks that they arrive bit for bit and in order. Returns an error if
/// datagrams are missing, which may be lost; packets on connections must not be.
fn carry(camera: Plain, player: Plain, listen: &str, unit: &[&str]) -> Result<(), String> {
    let datagrams = camera == Plain::Udp || player == Plain::Udp;
    let lossy = datagrams || !listen.starts_with("tcp");
    // On a path that is paced, a megabyte at once would take too long.
    let longest = if lossy { 9000 } else { 65_535 };
    let sent = packets(200, longest);
    let source = Camera::start(camera, sent.clone(), false);
    let gateways = pair(&source.url(), &[&["--listen", listen], unit].concat(), &[]);
    let watching = Player::watch(gateways.port, player);
    let came = match lossy {
        true => watching.packets_that_come(sent.len()),
        false => watching.packets(sent.len()),
    };
    for (channel, (came, sent)) in by_channel(&came).iter().zip(&by_channel(&sent)).enumerate() {
        let mut rest = sent.iter();
        let other = came.iter().position(|came| !rest.any(|sent| sent == came));
        assert_eq!(other, None, "channel {channel}: another packet came out than went in");
    }
    if came.len() < sent.len() {
        return Err(format!("{} of {} packets came", came.len(), sent.len()));
    }
    if !datagrams {
        assert!(came == sent, "on one connection all channels are in order");
    }
    Ok(())
}

#[test]
fn packets_come_out_bit_for_bit_whatever_either_plain_side_and_the_link_use() {
    for listen in ["tcp://127.0.0.1:0", "udp://127.0.0.1:0", "quic://127.0.0.1:0"] {
        for camera in [Plain::Tcp, Plain::Udp] {
            for player in [Plain::Tcp, Plain::Udp] {
                assert_exact(camera, player, listen, &[]);
            }
        }
    }
}

#[test]
fn packets_come_out_bit_for_bit_however_they_are_cut_for_sealing() {
    for unit in ["packet", "chunk:128", "chunk:256", "chunk:512"] {
        for listen in ["tcp://127.0.0.1:0", "udp://127.0.0.1:0"] {
            assert_exact(Plain::Udp, Plain::Udp, listen, &["--unit", unit]);
        }
    }
}

/// A camera that never stops, and a pair of gateways for it.
fn endless(plain: Plain) -> (Camera, Pair) {
    let camera = Camera::start(plain, packets(50, 1400), true);
    let gateways = pair(&camera.url(), &[], &[]);
    (camera, gateways)
}

fn asked(method: Method) -> Heard {
    Heard::Asked(method.name().to_owned())
}

#[test]
fn players_share_one_session_with_the_camera_and_the_last_one_ends_it() {
    let (camera, gateways) = endless(Plain::Tcp);
    let mut first = Player::watch(gateways.port, Plain::Tcp);
    let mut second = Player::watch(gateways.port, Plain::Udp);
    first.packets(100);
    second.packets(100);
    assert_eq!(first.ask(Method::Teardown, "", &[]).status, 200);
    assert!(first.receives_nothing() && second.receives());
    assert_eq!(second.ask(Method::Teardown, "", &[]).status, 200);
    let heard = camera.hears(&Heard::Gone);
    let plays = heard.iter().filter(|heard| **heard == asked(Method::Play)).count();
    assert_eq!(
        (plays, heard.contains(&asked(Method::Teardown))),
        (1, true),
        "{heard:?}"
    );
}

#[test]
fn a_player_that_paused_goes_on_while_another_watches() {
    let (_camera, gateways) = endless(Plain::Tcp);
    let mut first = Player::watch(gateways.port, Plain::Tcp);
    let second = Player::watch(gateways.port, Plain::Tcp);
    first.packets(10);
    assert_eq!(first.ask(Method::Pause, "", &[]).status, 200);
    assert!(first.receives_nothing() && second.receives());
    assert_eq!(first.ask(Method::Play, "", &[]).status, 200);
    assert!(first.receives());
}

#[test]
fn reports_of_players_reach_the_camera_as_they_are() {
    for (camera_side, player_side) in [(Plain::Tcp, Plain::Udp), (Plain::Udp, Plain::Tcp)] {
        let (camera, gateways) = endless(camera_side);
        let mut player = Player::watch(gateways.port, player_side);
        player.packets(10);
        for track in 0..2 {
            // A receiver report without blocks, from a source with the track's number.
            let packet = vec![0x80, 201, 0, 1, 0, 0, 0, track];
            player.report(track, &packet);
            camera.hears(&Heard::Report(track * 2 + 1, packet));
        }
    }
}

#[test]
fn players_learn_nothing_of_where_the_camera_is_and_what_it_is_called() {
    let (_camera, gateways) = endless(Plain::Tcp);
    let mut player = Player::connect(gateways.port, "front", Plain::Tcp);
    let sdp = player.play();
    assert!(!sdp.contains("attic") && !sdp.contains("127.0.0.1"), "{sdp}");
    for line in ["m=video 0 RTP/AVP 96", "a=rtpmap:96 VP8/90000", "a=control:track1"] {
        assert!(sdp.contains(line), "{sdp}");
    }
}

#[test]
fn a_player_that_vanishes_is_not_served_any_longer() {
    for plain in [Plain::Tcp, Plain::Udp] {
        let (camera, gateways) = endless(plain);
        let player = Player::watch(gateways.port, plain);
        player.packets(100);
        player.hang_up();
        camera.hears(&asked(Method::Teardown));
        // The gateway notices at once that the player left or that its connection broke, and does not wait for a minute
        // of silence.
        gateways.viewer.says(" the player", PATIENCE);
        assert!(!gateways.viewer.said().contains("nothing was heard from the player"));
    }
}

#[test]
fn a_camera_that_comes_up_while_a_player_asks_is_still_found() {
    let comes_up = || {
        let port = free_port();
        let gateways = pair(&format!("rtsp://127.0.0.1:{port}/cam"), &[], &[]);
        let mut player = Player::connect(gateways.port, "front", Plain::Tcp);
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port");
            Camera::at(listener, Plain::Tcp, packets(50, 1400), true)
        });
        let status = player.ask(Method::Describe, "", &[]).status;
        let _camera = late.join().expect("a camera");
        if status != 200 {
            return Err(format!("the answer was {status}: the camera was too late"));
        }
        player.play();
        player.packets(100);
        Ok(())
    };
    assert!(succeeds_once("a camera that comes up", comes_up), "it was never found");
}

#[test]
fn a_camera_that_is_not_there_is_an_answer_and_not_a_wait_without_end() {
    let gateways = pair(&format!("rtsp://127.0.0.1:{}/cam", free_port()), &[], &[]);
    // The camera gateway answers after 5 s. Without that the viewer gateway would answer 504 after 10 s.
    let asks = || {
        let mut player = Player::connect(gateways.port, "front", Plain::Tcp);
        match player.ask(Method::Describe, "", &[]).status {
            503 => Ok(()),
            other => Err(format!("the answer was {other}")),
        }
    };
    assert!(succeeds_once("a camera that is not there", asks), "nobody is told");
}

#[test]
fn a_gateway_that_is_killed_frees_the_camera_and_players_and_its_successor_serves_them() {
    let camera = Camera::start(Plain::Tcp, packets(50, 1400), true);
    let (near, far) = (home(), home());
    let seats = [free_port(), free_port()];
    let listen = format!("tcp://127.0.0.1:{}", seats[0]);
    // The restarted gateway has the same identity, list of viewers and port, so that the ticket remains valid.
    let options = ["--listen", &listen];
    let mut first = camera_gateway(near.path(), &camera.url(), &options);
    let viewer = viewer_gateway(far.path(), &first.ticket, seats[1], &[]);
    let player = Player::watch(seats[1], Plain::Tcp);
    player.packets(100);
    first.program.signal("KILL");
    first.program.ends(PATIENCE);
    assert!(player.is_ended(PATIENCE), "the player is not left waiting");
    camera.hears(&Heard::Gone);

    let _second = camera_gateway(near.path(), &camera.url(), &options);
    viewer.says_times("linked to the camera gateway", 2, PATIENCE);
    Player::watch(seats[1], Plain::Tcp).packets(100);
}

#[test]
fn a_viewer_gateway_that_is_killed_frees_the_camera() {
    let (camera, mut gateways) = endless(Plain::Udp);
    let player = Player::watch(gateways.port, Plain::Udp);
    player.packets(100);
    gateways.viewer.signal("KILL");
    gateways.viewer.ends(PATIENCE);
    camera.hears(&asked(Method::Teardown));
}

#[test]
fn gateways_that_are_asked_to_stop_say_goodbye_and_report() {
    let dir = home();
    let files = ["camera.json", "viewer.json"].map(|name| dir.path().join(name));
    let [near, far] = [&files[0], &files[1]].map(|file| ["--report", media::path(file)]);
    let camera = Camera::start(Plain::Tcp, packets(50, 1400), true);
    let mut gateways = pair(&camera.url(), &near, &far);
    let player = Player::watch(gateways.port, Plain::Tcp);
    player.packets(100);
    gateways.viewer.stop();
    camera.hears(&asked(Method::Teardown));
    gateways.camera.program.stop();
    assert!(number(&report(&files[0]), "/totals/frames_out") >= 1.0);
    assert!(number(&report(&files[1]), "/totals/frames_in") >= 1.0);
    assert_eq!(number(&report(&files[1]), "/totals/frames_dropped/gap"), 0.0);
}

#[test]
fn a_player_that_does_not_read_is_cut_off_and_the_others_miss_nothing() {
    let (_camera, gateways) = endless(Plain::Tcp);
    let mut slow = TcpStream::connect((Ipv4Addr::LOCALHOST, gateways.port)).expect("it listens");
    let url = gateways.url();
    let requests = [
        format!("DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n"),
        format!("SETUP {url}/track0 RTSP/1.0\r\nCSeq: 2\r\nTransport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n"),
    ];
    let answers = requests.map(|request| ask_raw(&mut slow, &request));
    let session = answers[1]
        .split("Session: ")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let play = format!(
        "PLAY {url} RTSP/1.0\r\nCSeq: 3\r\nSession: {}\r\n\r\n",
        session.expect("a session")
    );
    std::io::Write::write_all(&mut slow, play.as_bytes()).expect("asked");
    let other = Player::watch(gateways.port, Plain::Tcp);
    other.packets(1000);
    gateways.viewer.says("cut off: it took nothing for 10 s", PATIENCE);
    assert!(other.receives());
}

fn ask_raw(stream: &mut TcpStream, request: &str) -> String {
    std::io::Write::write_all(stream, request.as_bytes()).expect("asked");
    let mut buffer = [0; 8192];
    let length = std::io::Read::read(stream, &mut buffer).expect("answered");
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

#[test]
fn cameras_are_found_by_their_paths() {
    let front = Camera::start(Plain::Tcp, vec![(0, b"front".to_vec())], true);
    let yard = Camera::start(Plain::Udp, vec![(0, b"yard".to_vec())], true);
    let (first, second) = (format!("front={}", front.url()), format!("/yard/={}", yard.url()));
    let gateways = pair("", &["--camera", &first, "--camera", &second], &[]);
    let mut players = ["front", "yard"].map(|path| Player::connect(gateways.port, path, Plain::Tcp));
    for (player, path) in players.iter_mut().zip(["front", "yard"]) {
        player.play();
        let came = player.packets(20);
        assert!(
            came.iter().all(|packet| packet.1 == path.as_bytes()),
            "{path}: {came:?}"
        );
    }
    let mut lost = Player::connect(gateways.port, "cellar", Plain::Tcp);
    assert_eq!(lost.ask(Method::Describe, "", &[]).status, 404);
}

#[test]
fn a_camera_for_every_path_serves_players_at_different_ones_and_outlives_each_of_them() {
    let camera = Camera::start(Plain::Tcp, vec![(0, b"everywhere".to_vec())], true);
    let gateways = pair(&camera.url(), &[], &[]);
    let mut players = ["front", "yard", "front"].map(|path| Player::connect(gateways.port, path, Plain::Tcp));
    for player in &mut players {
        player.play();
    }
    let [first, second, third] = players;
    for gone in [second, third] {
        drop(gone);
        assert_eq!(first.packets(200).len(), 200);
    }
    let mut again = Player::connect(gateways.port, "yard", Plain::Tcp);
    again.play();
    assert_eq!(again.packets(20).len(), 20);
    let plays = camera.heard_so_far();
    let plays = plays.iter().filter(|heard| **heard == asked(Method::Play)).count();
    assert_eq!(plays, 1, "all watch one session");
}

#[test]
fn a_gateway_without_a_camera_or_with_two_at_one_path_does_not_begin() {
    let two = ["--camera", "a=rtsp://127.0.0.1/1", "--camera", "a=rtsp://127.0.0.1/2"];
    let none: [&str; 0] = [];
    let wrong = ["--camera", "http://127.0.0.1/1"];
    for arguments in [&two[..], &none, &wrong] {
        let dir = home();
        let mut command = sealcast(dir.path());
        command
            .args(["gateway", "camera", "--listen", "tcp://127.0.0.1:0"])
            .args(arguments);
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
