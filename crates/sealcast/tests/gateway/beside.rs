//! One publisher of an RTSP camera, with pictures for viewers and the camera's own packets for gateways, over one
//! connection to the camera. The test implements the camera and the players, so that every byte is known.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast_proto::rtsp::Method;
use sealcast_proto::unit::nal_units;
use sealcast_testkit::gateways::clip::{Clip, Codec, PICTURES, h264};
use sealcast_testkit::gateways::{
    Camera, Deviation, Heard, Packet, Plain, Player, digests_by_ffmpeg, unlinked_gateway, viewer_gateway,
};
use sealcast_testkit::media::{STREET, clip, path};
use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, file_url, free_port, home, publish, sealcast, succeeds_once, watch,
};
use sealcast_testkit::servers::gstreamer;
use serde_json::Value;
use tempfile::TempDir;

/// Packets of the picture from one keyframe to the next, and more: so many may be those that were kept.
const KEPT: usize = 40;

/// A picture each 10 ms, for longer than any test looks.
const TCP: &[Deviation] = &[Deviation::Pause(|_| 10)];
const UDP: &[Deviation] = &[Deviation::Pause(|_| 10), Deviation::OverUdp];

fn film() -> Clip {
    h264().repeated(100)
}

fn camera(clip: &Clip, deviations: &'static [Deviation]) -> Camera {
    Camera::odd(
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"),
        clip,
        deviations,
    )
}

/// A publisher, a viewer with its recording, and a gateway for players.
struct Ends {
    publisher: Publisher,
    viewer: Program,
    /// The gateway, which serves as long as it is kept.
    gateway: Program,
    port: u16,
    homes: [TempDir; 3],
}

impl Ends {
    fn start(camera: &str, more: &[&str]) -> Self {
        let homes = [home(), home(), home()];
        let publisher = publish(homes[0].path(), camera, more);
        let recording = file_url(&homes[1].path().join("out.h264"));
        let viewer = watch(homes[1].path(), &publisher.ticket, &["--to", &recording]);
        let port = free_port();
        let gateway = viewer_gateway(homes[2].path(), &publisher.ticket, port, &[]);
        viewer.says("INFO watching", PATIENCE);
        Self {
            publisher,
            viewer,
            gateway,
            port,
            homes,
        }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = sealcast(self.homes[0].path()).args(arguments).arg("--json").output();
        serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON")
    }

    fn recording(&self) -> PathBuf {
        self.homes[1].path().join("out.h264")
    }

    /// The viewer's pictures so far, by their numbers. It stops watching.
    fn pictures(&mut self, clip: &Clip) -> Vec<usize> {
        self.viewer.stop();
        pictures(&self.recording(), clip)
    }
}

/// The numbers of the pictures in a recording.
fn pictures(recording: &Path, clip: &Clip) -> Vec<usize> {
    let bytes = std::fs::read(recording).expect("a recording");
    let slices = nal_units(&bytes).filter(|unit| Codec::H264.is_shown(unit));
    let number = |slice: &[u8]| clip.pictures.iter().position(|picture| picture[0] == slice);
    slices
        .map(|slice| number(slice).expect("a picture of the camera"))
        .collect()
}

/// Fails unless the pictures follow one another.
fn assert_run(pictures: &[usize]) {
    assert!(pictures.len() > 20, "only {} pictures came", pictures.len());
    for pair in pictures.windows(2) {
        assert_eq!((pair[0] + 1) % PICTURES, pair[1], "in {pictures:?}");
    }
}

fn number(packet: &Packet) -> u16 {
    u16::from_be_bytes([packet.1[2], packet.1[3]])
}

/// Compares packets with those of the clip: bit for bit, but for the timestamps of pictures that were kept for who
/// joins. Returns an error if some are missing.
fn compare(came: &[Packet], clip: &Clip) -> Result<(), String> {
    let sent: Vec<Packet> = clip.to_packets().into_iter().map(|(_, packet)| packet).collect();
    for channel in [0, 2] {
        let sent: Vec<&Packet> = sent.iter().filter(|packet| packet.0 == channel).collect();
        let came: Vec<&Packet> = came.iter().filter(|packet| packet.0 == channel).collect();
        assert!(
            came.len() > KEPT * 2,
            "only {} packets came on channel {channel}",
            came.len()
        );
        for (at, packet) in came.iter().enumerate() {
            let place = usize::from(number(packet).wrapping_sub(number(sent[0])));
            let [whole, moved] = [0..0, 4..8].map(|but| {
                let part = |bytes: &[u8]| [&bytes[..but.start], &bytes[but.end..]].concat();
                part(&packet.1) == part(&sent[place].1)
            });
            assert!(
                whole || (moved && channel == 0 && at < KEPT),
                "packet {at} of channel {channel} is another one"
            );
        }
        if came
            .windows(2)
            .any(|pair| number(pair[0]).wrapping_add(1) != number(pair[1]))
        {
            return Err(format!("packets of channel {channel} are missing"));
        }
    }
    Ok(())
}

fn asked(heard: &[Heard], method: &str) -> usize {
    let method = Heard::Asked(method.to_owned());
    heard.iter().filter(|heard| **heard == method).count()
}

#[test]
fn a_viewer_gets_pictures_and_a_gateway_packets_bit_for_bit_over_one_connection() {
    let clip = film();
    for (deviations, listen, player) in [
        (TCP, "tcp://127.0.0.1:0", Plain::Tcp),
        (UDP, "udp://127.0.0.1:0", Plain::Udp),
        (TCP, "quic://127.0.0.1:0", Plain::Tcp),
    ] {
        let carried = || {
            let camera = camera(&clip, deviations);
            let mut ends = Ends::start(&camera.url(), &["--listen", listen]);
            let came = Player::watch(ends.port, player).packets_that_come(600);
            compare(&came, &clip)?;
            assert_run(&ends.pictures(&clip));
            let heard = camera.heard_so_far();
            assert_eq!(
                ["DESCRIBE", "PLAY"].map(|method| asked(&heard, method)),
                [1, 1],
                "one connection has both: {heard:?}"
            );
            Ok(())
        };
        assert!(
            succeeds_once(listen, carried),
            "{listen}: packets were missing every time"
        );
    }
}

/// Fails unless these pictures are a run of the clip's. Returns an error if some are missing.
fn shown_in_order(came: &[String], all: &[String]) -> Result<(), String> {
    let first = came
        .first()
        .and_then(|first| all.iter().position(|other| other == first));
    let first = first.ok_or_else(|| format!("{} pictures, and the first is not the clip's", came.len()))?;
    let other = (0..came.len()).find(|at| came[*at] != all[(first + at) % all.len()]);
    match other {
        None if came.len() >= 40 => Ok(()),
        None => Err(format!("only {} pictures came", came.len())),
        Some(at) => Err(format!("picture {at} of {} is another one", came.len())),
    }
}

#[test]
fn a_server_of_gstreamer_is_shown_to_a_viewer_and_a_player_at_once() {
    let dir = home();
    let file = clip(STREET, dir.path());
    let camera = gstreamer(&file, &[]);
    let pictures = |more: &[&str]| digests_by_ffmpeg(&[more, &["-map", "0:v:0", "-fps_mode", "passthrough"]].concat());
    let all = pictures(&["-i", path(&file)]);
    // The server drops packets that a busy machine does not read in time, so several attempts are allowed.
    let compare = || {
        let mut ends = Ends::start(&camera.url(), &[]);
        let url = format!("rtsp://127.0.0.1:{}/front", ends.port);
        let through = digests_by_ffmpeg(&[
            "-rtsp_transport",
            "tcp",
            "-i",
            &url,
            "-map",
            "0:v:0",
            "-fps_mode",
            "passthrough",
            "-frames:v",
            "50",
        ]);
        shown_in_order(&through, &all)?;
        ends.viewer.stop();
        shown_in_order(&pictures(&["-i", path(&ends.recording())]), &all)
    };
    assert!(
        succeeds_once("a server of GStreamer", compare),
        "other things are shown"
    );
}

#[test]
fn players_requests_go_through_the_multiplexer_and_the_publisher_shows_both_ends() {
    let camera = camera(&film(), TCP);
    let ends = Ends::start(&camera.url(), &[]);
    let mut player = Player::watch(ends.port, Plain::Tcp);
    player.packets(20);
    let status = ends.json(&["status"]);
    let sessions = status["sessions"].as_array().map(Vec::len);
    assert_eq!(
        (&status["cameras"][0]["viewers"], sessions),
        (&2.into(), Some(2)),
        "{status}"
    );
    assert_eq!(ends.json(&["peers", "list"])["peers"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        player
            .ask_with(Method::GetParameter, "", &[], b"packets_received\r\n")
            .status,
        200
    );
    camera.hears(&Heard::Asked("GET_PARAMETER".to_owned()));
    let refused = player.ask_with(Method::SetParameter, "", &[], b"reboot: yes\r\n");
    let words = String::from_utf8(refused.body).expect("text");
    assert!(refused.status == 403 && words.contains("`control`"), "{words}");
    let report = vec![0x80, 201, 0, 1, 0, 0, 0, 7];
    player.report(0, &report);
    camera.hears(&Heard::Report(1, report));
    // Viewers watch on, so that neither reaches the camera.
    for method in [Method::Pause, Method::Teardown] {
        assert_eq!(player.ask(method, "", &[]).status, 200);
        assert!(player.receives_nothing());
    }
    let heard = camera.heard_so_far();
    assert_eq!(
        ["PAUSE", "TEARDOWN", "SET_PARAMETER"].map(|method| asked(&heard, method)),
        [0; 3],
        "{heard:?}"
    );
    Player::watch(ends.port, Plain::Tcp).packets(20);
    assert!(
        !ends.viewer.said().contains("nothing was heard"),
        "{}",
        ends.viewer.said()
    );
}

#[test]
fn a_removed_gateway_loses_its_players_and_the_viewer_watches_on() {
    let clip = film();
    let camera = camera(&clip, TCP);
    let mut ends = Ends::start(&camera.url(), &[]);
    let player = Player::watch(ends.port, Plain::Tcp);
    player.packets(20);
    let said = ends.gateway.said();
    let peer = said
        .split("peer=")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let peer = peer.unwrap_or_else(|| panic!("no peer in {said}"));
    let removed = sealcast(ends.homes[0].path()).args(["peers", "remove", peer]).status();
    assert!(removed.expect("it runs").success());
    assert!(player.is_ended(PATIENCE));
    ends.publisher
        .program
        .says("the session of a viewer gateway ends", PATIENCE);
    let status = ends.json(&["status"]);
    assert_eq!(status["cameras"][0]["viewers"], 1, "{status}");
    assert_run(&ends.pictures(&clip));
}

#[test]
fn a_camera_that_goes_and_is_back_goes_on_for_viewers_and_players() {
    let (first, second) = (h264().repeated(6), film());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let camera = Camera::odd_again(listener, &first, Some(&second), TCP);
    let mut ends = Ends::start(&camera.url(), &[]);
    let player = Player::watch(ends.port, Plain::Tcp);
    let all = first.packets.len();
    let came = player.packets(all + 200);
    // The numbers of the second time begin where those of the first did.
    let again = came
        .windows(2)
        .any(|pair| pair[0].0 == 0 && pair[1].0 == 0 && number(&pair[1]) < number(&pair[0]));
    assert!(again || came.len() > all, "it is not back");
    assert!(!player.is_ended(Duration::from_millis(1)), "the player is kept");
    let pictures = ends.pictures(&second);
    assert!(pictures.len() > first.pictures.len(), "{pictures:?}");
    let heard = camera.heard_so_far();
    assert_eq!(asked(&heard, "PLAY"), 2, "{heard:?}");
}

#[test]
fn a_camera_that_is_off_is_answered_and_not_waited_for_without_end() {
    let homes = [home(), home()];
    let url = format!("rtsp://127.0.0.1:{}/cam", free_port());
    let publisher = publish(homes[0].path(), &url, &["--retry"]);
    let port = free_port();
    let _gateway = viewer_gateway(homes[1].path(), &publisher.ticket, port, &[]);
    let mut player = Player::connect(port, "front", Plain::Tcp);
    assert_eq!(player.ask(Method::Describe, "", &[]).status, 503);
}

#[test]
fn a_gateway_is_told_in_words_why_a_publisher_has_no_packets_and_what_to_do() {
    let url = format!("rtsp://127.0.0.1:{}/cam", free_port());
    for (source, options, words, advice) in [
        (
            "test:160x120@10",
            &[][..],
            "only an RTSP camera has some",
            "--to rtsp://127.0.0.1:8554/NAME` serves players",
        ),
        (
            &url,
            &["--group"],
            "packets are neither",
            "have it started without a group",
        ),
        (
            &url,
            &["--shape", "pad:padme"],
            "hides sizes and times (--shape)",
            "--shape off",
        ),
        (
            &url,
            &["--no-sound"],
            "leaves the sound out (--no-sound)",
            "started with sound",
        ),
    ] {
        let homes = [home(), home()];
        let publisher = publish(homes[0].path(), source, &[&["--retry"], options].concat());
        let mut gateway = unlinked_gateway(homes[1].path(), &publisher.ticket, free_port(), &[]);
        assert_eq!(gateway.ends(PATIENCE), 6, "{options:?}");
        let said = gateway.said();
        assert!(
            said.contains("not offered") && said.contains(words) && said.contains(advice),
            "{options:?}: {said}"
        );
        publisher.program.says("refused a viewer gateway", PATIENCE);
    }
}

#[test]
fn several_cameras_are_found_by_their_names_and_one_without_packets_is_not_there() {
    let (front, yard) = (camera(&film(), TCP), camera(&film(), UDP));
    let homes = [home(), home()];
    let others = [format!("yard={}", yard.url()), "card=test:160x120@10".to_owned()];
    let more: Vec<&str> = others.iter().map(String::as_str).collect();
    let publisher = publish(homes[0].path(), &format!("front={}", front.url()), &more);
    let port = free_port();
    let gateway = viewer_gateway(homes[1].path(), &publisher.ticket, port, &[]);
    gateway.says("cameras=\"front, yard\"", PATIENCE);
    for name in ["front", "yard"] {
        let mut player = Player::connect(port, name, Plain::Tcp);
        player.play();
        player.packets(20);
    }
    for name in ["card", "cellar"] {
        let answer = Player::connect(port, name, Plain::Tcp).ask(Method::Describe, "", &[]);
        assert_eq!(answer.status, 404, "{name}");
    }
}
