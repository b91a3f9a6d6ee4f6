//! Peers that were admitted and are hostile: a viewer gateway that would change the camera or disturb other players,
//! and a viewer that would take the picture from others.

use std::time::{Duration, Instant};

use sealcast_proto::keys::{Role, WishedMedia};
use sealcast_proto::rtsp::{CameraNumber, CarriedHeader, Channel, GatewayMessage, Parameters, Verb};
use sealcast_testkit::attack::{Direction, Proxy, Puppet, Tap, carries_media};
use sealcast_testkit::gateways::{Camera, Heard, Pair, Plain, Player, pair};
use sealcast_testkit::program::{PATIENCE, Program, home, port, publish, until, watch};

/// RTCP of a player that leaves: it ends a stream that a camera shares.
const BYE: [u8; 8] = [0x81, 203, 0, 1, 0, 0, 0, 9];
/// A request for a keyframe: picture loss indication.
const PICTURE_LOSS: [u8; 12] = [0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1];

/// A receiver report without blocks, of this source.
fn report(source: u8) -> Vec<u8> {
    vec![0x80, 201, 0, 1, 0, 0, 0, source]
}

/// A camera, gateways, and an honest player that watches.
struct Scene {
    camera: Camera,
    gateways: Pair,
    player: Player,
}

impl Scene {
    fn new() -> Self {
        let camera = Camera::start(Plain::Tcp, vec![(0, vec![1; 500]), (2, vec![2; 100])], true);
        let gateways = pair(&camera.url(), &[], &[]);
        let player = Player::watch(gateways.port, Plain::Tcp);
        player.packets(20);
        Self {
            camera,
            gateways,
            player,
        }
    }

    /// A second, hostile viewer gateway, that has asked for the camera.
    fn attacker(&self) -> Puppet {
        let mut puppet = Puppet::connect(&self.gateways.camera.ticket, Role::Viewer, WishedMedia::Packets, true);
        let path = "front".to_owned();
        assert!(puppet.tell(&GatewayMessage::Describe { request: 1, path }));
        puppet
    }

    /// Packets that the camera has heard, after everything that was sent before has passed the camera gateway: the
    /// honest player's report comes last.
    fn heard(&mut self, source: u8) -> Vec<Heard> {
        self.player.report(0, &report(source));
        self.camera.hears(&Heard::Report(1, report(source)))
    }
}

/// A packet for the camera, which is the attacker's first.
fn packet(channel: u8, bytes: &[u8]) -> GatewayMessage {
    GatewayMessage::Packet {
        camera: CameraNumber::new(1).expect("a camera"),
        channel: Channel::from_number(channel).expect("a channel"),
        bytes: bytes.to_vec(),
    }
}

/// Something that must not reach the camera: all but reports on RTCP channels, and requests that change nothing.
fn forbidden(heard: &[Heard]) -> Option<&Heard> {
    heard.iter().find(|heard| match heard {
        Heard::Asked(method) => method == "SET_PARAMETER",
        Heard::Report(channel, bytes) => *channel != 1 || ![report(7), report(8)].contains(bytes),
        Heard::Gone => true,
    })
}

#[test]
fn an_admitted_gateway_can_neither_reboot_the_camera_nor_end_its_stream() {
    let mut scene = Scene::new();
    let mut attacker = scene.attacker();
    let mut reboot = Parameters::of_body(b"reboot: yes\r\n".to_vec());
    reboot.set(CarriedHeader::ContentType, "text/parameters".to_owned());
    assert!(attacker.tell(&GatewayMessage::Command {
        request: 2,
        camera: CameraNumber::new(1).expect("a camera"),
        verb: Verb::SetParameter,
        with: reboot,
    }));
    assert!(attacker.tell(&packet(1, &BYE)));
    assert!(attacker.tell(&packet(1, b"no RTCP at all")));
    // What a player may say passes, and comes after all before it.
    let compound = [report(7), BYE.to_vec()].concat();
    assert!(attacker.tell(&packet(1, &compound)));
    let heard = scene.camera.hears(&Heard::Report(1, report(7)));
    assert_eq!(forbidden(&heard), None, "{heard:?}");
    assert!(scene.player.receives());
    let heard = scene.heard(8);
    assert_eq!(forbidden(&heard), None, "{heard:?}");
    let refused = "a player would change the camera: its viewer gateway is not in the list `control`";
    scene.gateways.camera.program.says(refused, PATIENCE);
}

#[test]
fn an_admitted_gateway_that_sends_media_towards_the_camera_loses_its_session_alone() {
    let mut scene = Scene::new();
    let mut attacker = scene.attacker();
    assert!(attacker.tell(&packet(0, b"arbitrary bytes on the channel of the video")));
    let program = &scene.gateways.camera.program;
    program.says("the peer broke the protocol", PATIENCE);
    let heard = scene.heard(8);
    assert_eq!(forbidden(&heard), None, "{heard:?}");
    assert!(scene.player.receives());
    assert!(!scene.gateways.viewer.said().contains("broke the protocol"));
}

#[test]
fn a_flood_of_keyframe_requests_reaches_the_camera_four_times_a_second() {
    let mut scene = Scene::new();
    let mut attacker = scene.attacker();
    let began = Instant::now();
    for _ in 0..500 {
        assert!(attacker.tell(&packet(1, &PICTURE_LOSS)));
    }
    // The honest player's report may overtake the flood, which is in another session: wait for the flood's own end.
    let last = [report(7), PICTURE_LOSS.to_vec()].concat();
    let mut requests = 0;
    loop {
        assert!(attacker.tell(&packet(1, &last)));
        let heard = scene.heard(8);
        let of_attacker = |heard: &&Heard| matches!(heard, Heard::Report(1, bytes) if bytes.ends_with(&PICTURE_LOSS));
        requests += heard.iter().filter(of_attacker).count();
        if heard
            .iter()
            .any(|heard| matches!(heard, Heard::Report(1, bytes) if bytes.starts_with(&report(7))))
        {
            break;
        }
        // The flood has used up the rate of its session; the honest player must not use up its own.
        std::thread::sleep(Duration::from_millis(50));
        assert!(began.elapsed() < PATIENCE, "nothing of the attacker passes any more");
    }
    // Whatever the machine does meanwhile, the time here is longer than that at the gateway.
    let most = 1 + began.elapsed().as_millis() / Duration::from_millis(250).as_millis();
    assert!(
        (1..=most).contains(&(requests as u128)),
        "{requests} requests of at most {most}"
    );
    assert!(scene.player.receives());
}

/// The bit rate that a publisher asks its source for.
fn source_target(publisher: &Program) -> f64 {
    publisher.counts("sealcast_source_target_bits_per_second")
}

#[test]
fn a_viewer_that_reports_nothing_does_not_take_the_picture_from_another() {
    let homes = [home(), home(), home()];
    let options = ["--listen", "udp://127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let publisher = publish(homes[0].path(), "test:640x480@25", &options);
    // Nothing of the picture reaches the attacker, but all control messages do: it stays, and has nothing to report.
    let tap = Tap::start(port(&publisher.ticket), |direction, _, datagram| {
        match direction == Direction::Down && carries_media(datagram) {
            true => Vec::new(),
            false => vec![datagram.to_vec()],
        }
    });
    let redirected = Proxy::redirect(&publisher.ticket, tap.port);
    let attacker = watch(homes[1].path(), &redirected, &["--to", "null:"]);
    attacker.says("INFO watching", PATIENCE);
    let program = &publisher.program;
    let lowest = 150_000.0;
    until("its silence lowers the rate while it is alone", || {
        source_target(program) == lowest
    });
    let honest = watch(
        homes[2].path(),
        &publisher.ticket,
        &["--to", "null:", "--metrics", "127.0.0.1:0"],
    );
    let frames = "sealcast_frames_total{dir=\"in\"}";
    honest.says("INFO watching", PATIENCE);
    honest.has_counted(frames, 1.0);
    program.says("it loses frames, and does not slow the others", PATIENCE);
    until("the source is asked for what the honest viewer's path carries", || {
        source_target(program) > 2.0 * lowest
    });
    honest.has_counted(frames, honest.counts(frames) + 100.0);
    assert_eq!(program.said().matches("INFO a viewer watches").count(), 2);
}
