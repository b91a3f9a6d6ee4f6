//! `watch --to rtp:`: the stream as packets for whoever listens at a port.

use std::net::UdpSocket;

use sealcast_proto::rtp::RtpPacket;
use sealcast_testkit::gateways::digests_by_ffmpeg;
use sealcast_testkit::media::{BUNNY, STREET, clip, h265_clip, path, pictures};
use sealcast_testkit::program::{
    PATIENCE, Program, file_url, free_port, home, publish, sealcast, succeeds_once, until, watch,
};

/// Number of pictures that ffmpeg shows.
const PICTURES: usize = 50;
/// Longest packet: 1200 bytes behind a header.
const LONGEST: usize = 1212;

/// True if a program listens at a UDP port of this machine.
fn is_listened_at(port: u16) -> bool {
    let sockets = std::fs::read_to_string("/proc/net/udp").unwrap_or_default();
    sockets.contains(&format!(":{port:04X} 00000000:0000"))
}

#[test]
fn ffmpeg_shows_the_clips_own_pictures_by_the_description() {
    let dir = home();
    for clip in [clip(STREET, dir.path()), h265_clip(dir.path())] {
        let original = pictures(&["-i", path(&clip)]);
        let (homes, sdp) = ([home(), home()], dir.path().join("stream.sdp"));
        let source = format!("{}?loop", file_url(&clip));
        let publisher = publish(homes[0].path(), &source, &[]);
        let shows = || {
            let port = free_port();
            let to = format!("rtp://127.0.0.1:{port}");
            let described = format!("{to}?sdp={}", path(&sdp));
            let first = watch(homes[1].path(), &publisher.ticket, &["--to", &described, "-v"]);
            first.says("players open this", PATIENCE);
            drop(first);
            let player = std::thread::spawn({
                let (sdp, count) = (sdp.clone(), PICTURES.to_string());
                move || {
                    let input = ["-protocol_whitelist", "file,udp,rtp", "-i", path(&sdp)];
                    let output = ["-map", "0:v:0", "-fps_mode", "passthrough", "-frames:v", &count];
                    digests_by_ffmpeg(&[&input[..], &output].concat())
                }
            });
            until("ffmpeg listens", || is_listened_at(port));
            // It begins with a keyframe.
            let _second = watch(homes[1].path(), &publisher.ticket, &["--to", &to]);
            let shown = player.join().expect("ffmpeg runs");
            let others = shown.iter().filter(|digest| !original.contains(digest)).count();
            match (shown.len(), others) {
                (PICTURES, 0) => Ok(()),
                (count, others) => Err(format!("{count} pictures, {others} of them are none of the clip's")),
            }
        };
        assert!(succeeds_once(path(&clip), shows), "{}", clip.display());
    }
}

/// The type of the first unit of H.264 in a packet.
fn first_unit(payload: &[u8]) -> u8 {
    const STAP_A: u8 = 24;
    match payload[0] & 0x1f {
        STAP_A => payload[3] & 0x1f,
        kind => kind,
    }
}

#[test]
fn a_ground_station_gets_short_packets_with_parameter_sets_before_each_keyframe_and_sound_at_its_port() {
    const SPS: u8 = 7;
    let dir = home();
    let (clip, homes) = (clip(BUNNY, dir.path()), [home(), home()]);
    let at = |port: u16| UdpSocket::bind(("127.0.0.1", port)).expect("a socket");
    let [picture, sound] = [at(0), at(0)];
    for socket in [&picture, &sound] {
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
    }
    let port = |socket: &UdpSocket| socket.local_addr().expect("bound").port();
    let publisher = publish(homes[0].path(), &format!("{}?loop", file_url(&clip)), &[]);
    let to = format!("rtp://127.0.0.1:{}?sound={}", port(&picture), port(&sound));
    let _viewer = watch(homes[1].path(), &publisher.ticket, &["--to", &to]);
    let mut buffer = [0; 2000];
    let mut next = |socket: &UdpSocket| {
        let length = socket.recv(&mut buffer).expect("a packet");
        assert!(length <= LONGEST, "{length} bytes");
        buffer[..length].to_vec()
    };
    let (mut time, mut keyframes) = (None, 0);
    while keyframes < 2 {
        let packet = next(&picture);
        let packet = RtpPacket::parse(&packet).expect("RTP");
        assert_eq!(packet.payload_type, 96);
        let begins = time.replace(packet.timestamp) != Some(packet.timestamp);
        if begins && (keyframes == 0 || first_unit(packet.payload) == SPS) {
            assert_eq!(
                first_unit(packet.payload),
                SPS,
                "it begins with a sequence parameter set"
            );
            keyframes += 1;
        }
    }
    let heard = next(&sound);
    assert_eq!(RtpPacket::parse(&heard).expect("RTP").payload_type, 97);
}

#[test]
fn what_would_leave_the_machine_in_clear_is_refused_before_anything_is_sent() {
    let [camera, viewer] = [home(), home()];
    let publisher = publish(camera.path(), "test:160x120@25", &[]);
    let mut command = sealcast(viewer.path());
    command.args(["watch", &publisher.ticket, "--to", "rtp://192.0.2.7:5600"]);
    let mut watching = Program::run("the viewer", command);
    assert_eq!(watching.ends(PATIENCE), 2);
    let said = watching.said();
    assert!(said.contains("in clear") && said.contains("?open"), "{said}");
}
