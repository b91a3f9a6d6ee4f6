//! The whole path between third-party programs, captured with tcpdump: the packets that leave a pair of gateways are
//! those that entered it, bit for bit and in order, and nothing of them is visible between the gateways.

use std::path::{Path, PathBuf};

use sealcast_testkit::capture::rtp::{RTP_HEADER, carried_whole, sent_by};
use sealcast_testkit::capture::{Capture, RUN, may_capture, seen_of};
use sealcast_testkit::gateways::{camera_gateway, played_by_ffmpeg, viewer_gateway};
use sealcast_testkit::media::{BUNNY, STREET, clip, ffmpeg, path};
use sealcast_testkit::program::{free_port, home, port, succeeds_once};
use sealcast_testkit::servers::{Server, gstreamer, jpeg_clip};

/// Words that are visible on a plain RTSP connection. Each has at least seven bytes: some megabytes of ciphertext
/// contain a given word of four once in a thousand times.
const RTSP_WORDS: [&str; 9] = [
    "RTSP/1.0",
    "DESCRIBE rtsp://",
    "SETUP rtsp://",
    "PLAY rtsp://",
    "\r\nCSeq: ",
    "\r\nTransport: ",
    "v=0\r\no=",
    "m=video",
    "a=control:",
];

fn words_seen(capture: &[u8]) -> Vec<&'static str> {
    let shows = |word: &&str| capture.windows(word.len()).any(|seen| seen == word.as_bytes());
    RTSP_WORDS.into_iter().filter(shows).collect()
}

/// Lets ffmpeg receive for two seconds, and compares the packets that entered with those that left. Returns an error if
/// fewer than `least` packets of the first track left, or if packets are missing that a connection must not lose.
fn come_through(camera: &Server, towards: &str, scheme: &str, player: &str, least: usize) -> Result<(), String> {
    let (dir, near, far) = (home(), home(), home());
    let [first, last] = [camera.udp[1] + 1, camera.udp[1] + 20];
    let listen = format!("{scheme}://127.0.0.1:0");
    let source = format!("{}?transport={towards}", camera.url());
    let gateway = camera_gateway(near.path(), &source, &["--listen", &listen]);
    let (link, players) = (port(&gateway.ticket), free_port());
    let datagrams = format!("udp portrange {}-{last}", camera.udp[0]);
    let filter = format!("tcp port {} or tcp port {players} or {datagrams}", camera.port);
    let plain = Capture::of(&filter, dir.path().join("plain.pcap"));
    let sealed = Capture::of(&format!("{scheme} port {link}"), dir.path().join("sealed.pcap"));
    let _viewer = viewer_gateway(far.path(), &gateway.ticket, players, &[]);
    let url = format!("rtsp://127.0.0.1:{players}/front");
    let [first, last] = [first, last].map(|port| port.to_string());
    let udp = ["-min_port", &first, "-max_port", &last];
    let input = [&udp[..], &["-rtsp_transport", player, "-i", &url, "-t", "2"]].concat();
    played_by_ffmpeg(&[&input[..], &["-map", "0", "-c", "copy", "-f", "null", "-"]].concat());
    let (plain, sealed) = (plain.stop(), sealed.stop());

    let (entered, left) = (sent_by(camera.port, &plain), sent_by(players, &plain));
    assert_eq!(words_seen(&sealed), [""; 0]);
    let (found, all) = seen_of(payloads(&entered), &sealed);
    assert_eq!(found, 0, "of {all} runs some are on the wire as they are");
    let packets = left.first().map_or(0, Vec::len);
    if packets < least {
        return Err(format!("only {packets} packets left"));
    }
    // A link of datagrams drops late packets on a busy machine. The others must be unaltered and in order.
    if !carried_whole(&left, &entered) && scheme == "tcp" {
        return Err("packets are missing".to_owned());
    }

    let shown = words_seen(&plain);
    assert!(
        shown.len() >= RTSP_WORDS.len() - 1,
        "only {shown:?} where nothing is hidden"
    );
    // Search for the packets of the plain side that uses UDP: over TCP one may be split between two segments.
    let (found, all) = seen_of(payloads(if towards == "udp" { &entered } else { &left }), &plain);
    assert!(
        all > 100 * RUN && found == all,
        "{found} of {all} found where nothing is hidden"
    );
    Ok(())
}

/// The payloads of the RTP packets of all tracks.
fn payloads(sent: &[Vec<Vec<u8>>]) -> impl Iterator<Item = &[u8]> {
    sent.iter().step_by(2).flatten().map(|packet| &packet[RTP_HEADER..])
}

fn comes_through(camera: &Server, towards: &str, scheme: &str, player: &str, least: usize) {
    let way = format!("{towards} to {scheme} to {player}");
    let comes = || come_through(camera, towards, scheme, player, least);
    assert!(succeeds_once(&way, comes), "{way}: too little came every time");
}

fn whichever_way(camera: &Server, least: usize) {
    comes_through(camera, "tcp", "tcp", "udp", least);
    comes_through(camera, "udp", "tcp", "tcp", least);
    comes_through(camera, "udp", "udp", "udp", 1);
}

/// Encodes five seconds of a clip into a file.
fn made(clip: &Path, file: PathBuf, encoder: &[&str]) -> PathBuf {
    ffmpeg(&[&["-i", path(clip), "-t", "5"], encoder, &[path(&file)]].concat());
    file
}

#[test]
fn h264_comes_through_bit_for_bit_and_unseen() {
    if !may_capture() {
        return;
    }
    let dir = home();
    whichever_way(&gstreamer(&clip(STREET, dir.path()), &[]), 100);
}

#[test]
fn motion_jpeg_comes_through_bit_for_bit_and_unseen() {
    if !may_capture() {
        return;
    }
    let dir = home();
    whichever_way(&gstreamer(&jpeg_clip(dir.path()), &[]), 500);
}

#[test]
fn h265_comes_through_bit_for_bit_and_unseen() {
    if !may_capture() {
        return;
    }
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
    whichever_way(&gstreamer(&file, &[]), 50);
}

#[test]
fn h264_with_aac_comes_through_bit_for_bit_and_unseen() {
    if !may_capture() {
        return;
    }
    let dir = home();
    whichever_way(&gstreamer(&clip(BUNNY, dir.path()), &["--audio"]), 100);
}

#[test]
fn g711_comes_through_bit_for_bit_and_unseen() {
    if !may_capture() {
        return;
    }
    let dir = home();
    let encoder = ["-vn", "-c:a", "pcm_mulaw", "-ar", "8000", "-ac", "1"];
    let file = made(&clip(BUNNY, dir.path()), dir.path().join("sound.wav"), &encoder);
    whichever_way(&gstreamer(&file, &[]), 10);
}
