//! The whole way between programs that others wrote, with tcpdump as the judge: what leaves a pair of gateways is what
//! entered it, bit for bit and in order, and between them nothing of it shows.

mod capture;
mod gateways;
mod media;
mod program;
mod servers;

use std::path::{Path, PathBuf};

use capture::{Capture, RUN, rtp::sent_by, seen_of};
use gateways::{camera_gateway, viewer_gateway};
use media::{BUNNY, STREET, clip, ffmpeg, path};
use program::{free_port, home, port};
use servers::{Server, gstreamer, jpeg_clip};

/// Length of the RTP header of GStreamer's packets.
const RTP_HEADER: usize = 12;

/// What a plain RTSP connection shows of itself.
const RTSP_WORDS: [&str; 9] = [
    "RTSP/1.0",
    "DESCRIBE",
    "SETUP",
    "PLAY",
    "CSeq",
    "Transport",
    "v=0\r\n",
    "m=video",
    "a=control",
];

fn words_seen(capture: &[u8]) -> Vec<&'static str> {
    let shows = |word: &&str| capture.windows(word.len()).any(|seen| seen == word.as_bytes());
    RTSP_WORDS.into_iter().filter(shows).collect()
}

/// A camera, and which UDP ports are its own and which the player's: others may use the rest of this machine.
struct Stage {
    camera: Server,
    ports: [u16; 3],
}

impl Stage {
    fn of(file: &Path, arguments: &[&str]) -> Self {
        let first = 10_000 + free_port() % 500 * 40;
        let ports = [first, first + 20, first + 39];
        let [from, to] = [first, first + 19].map(|port| port.to_string());
        let camera = gstreamer(file, &[&["--udp", &from, &to], arguments].concat());
        Self { camera, ports }
    }
}

/// Let ffmpeg receive for two seconds, and compare what went in with what came out; `least` packets of the first track,
/// at least.
fn comes_through(stage: &Stage, towards: &str, scheme: &str, player: &str, least: usize) {
    let (dir, near, far) = (home(), home(), home());
    let Stage { camera, ports } = stage;
    let listen = format!("{scheme}://127.0.0.1:0");
    let source = format!("{}?transport={towards}", camera.url());
    let gateway = camera_gateway(near.path(), &source, &["--listen", &listen]);
    let (link, players) = (port(&gateway.ticket), free_port());
    let datagrams = format!("udp portrange {}-{}", ports[0], ports[2]);
    let filter = format!("tcp port {} or tcp port {players} or {datagrams}", camera.port);
    let plain = Capture::of(&filter, dir.path().join("plain.pcap"));
    let sealed = Capture::of(&format!("{scheme} port {link}"), dir.path().join("sealed.pcap"));
    let _viewer = viewer_gateway(far.path(), &gateway.ticket, players, &[]);
    let url = format!("rtsp://127.0.0.1:{players}/front");
    let [first, last] = [ports[1], ports[2]].map(|port| port.to_string());
    let udp = ["-min_port", &first, "-max_port", &last];
    let input = [&udp[..], &["-rtsp_transport", player, "-i", &url, "-t", "2"]].concat();
    ffmpeg(&[&input[..], &["-map", "0", "-c", "copy", "-f", "null", "-"]].concat());
    let (plain, sealed) = (plain.stop(), sealed.stop());

    let (entered, left) = (sent_by(camera.port, &plain), sent_by(players, &plain));
    let way = format!("{towards} to {scheme} to {player}");
    assert_eq!(left.len(), entered.len(), "{way}: other tracks were set up");
    assert!(left[0].len() >= least, "{way}: only {} packets left", left[0].len());
    for (channel, (left, entered)) in left.iter().zip(&entered).enumerate() {
        // A link of datagrams loses what is late on a busy machine; what it does not lose is whole and in order.
        let exact = scheme == "tcp";
        let mut rest = entered.iter();
        for (at, packet) in left.iter().enumerate() {
            let found = if exact {
                rest.next() == Some(packet)
            } else {
                rest.any(|entered| entered == packet)
            };
            assert!(found, "{way}: packet {at} of channel {channel} is not what entered");
        }
    }

    let payloads = || entered.iter().step_by(2).flatten().map(|packet| &packet[RTP_HEADER..]);
    let shown = words_seen(&plain);
    assert!(
        shown.len() >= RTSP_WORDS.len() - 1,
        "{way}: only {shown:?} where nothing is hidden"
    );
    assert_eq!(words_seen(&sealed), [""; 0], "{way}");
    let (found, all) = seen_of(payloads(), &plain);
    assert!(
        all > 100 * RUN && found == all,
        "{way}: {found} of {all} found where nothing is hidden"
    );
    assert_eq!(
        seen_of(payloads(), &sealed).0,
        0,
        "{way}: of {all} runs some are on the wire as they are"
    );
}

fn whichever_way(stage: &Stage, least: usize) {
    comes_through(stage, "tcp", "tcp", "udp", least);
    comes_through(stage, "udp", "tcp", "tcp", least);
    comes_through(stage, "udp", "udp", "udp", 1);
}

/// Five seconds of a clip, made into that file.
fn made(clip: &Path, file: PathBuf, encoder: &[&str]) -> PathBuf {
    ffmpeg(&[&["-i", path(clip), "-t", "5"], encoder, &[path(&file)]].concat());
    file
}

#[test]
fn h264_comes_through_bit_for_bit_and_unseen() {
    let dir = home();
    whichever_way(&Stage::of(&clip(STREET, dir.path()), &[]), 100);
}

#[test]
fn motion_jpeg_comes_through_bit_for_bit_and_unseen() {
    let dir = home();
    whichever_way(&Stage::of(&jpeg_clip(dir.path()), &[]), 500);
}

#[test]
fn h265_comes_through_bit_for_bit_and_unseen() {
    let dir = home();
    let encoder = [
        "-an",
        "-c:v",
        "libx265",
        "-preset",
        "ultrafast",
        "-x265-params",
        "log-level=none:bframes=0",
    ];
    let file = made(&clip(STREET, dir.path()), dir.path().join("street.h265.mp4"), &encoder);
    whichever_way(&Stage::of(&file, &[]), 50);
}

#[test]
fn h264_with_aac_comes_through_bit_for_bit_and_unseen() {
    let dir = home();
    whichever_way(&Stage::of(&clip(BUNNY, dir.path()), &["--audio"]), 100);
}

#[test]
fn g711_comes_through_bit_for_bit_and_unseen() {
    let dir = home();
    let encoder = ["-vn", "-c:a", "pcm_mulaw", "-ar", "8000", "-ac", "1"];
    let file = made(&clip(BUNNY, dir.path()), dir.path().join("sound.wav"), &encoder);
    whichever_way(&Stage::of(&file, &[]), 10);
}
