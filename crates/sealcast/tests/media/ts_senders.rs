//! MPEG-TS that comes to a port: packets of ffmpeg, lost ones, and those of strangers.

use std::collections::HashSet;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use sealcast::failure::FailureKind;
use sealcast::media::{Frame, SoundCodec, Track};
use sealcast::source::Source;
use sealcast_testkit::media::{BUNNY, clip, ffmpeg, path, tool, unpaced};
use sealcast_testkit::program::{free_port, home, succeeds_once};

use super::rtsp_cameras::{failure, open, receive, slices};

/// ffmpeg, which sends a clip again and again.
struct Sender(Child);

impl Sender {
    fn start(clip: &Path, form: &str, to: &str) -> Self {
        let quiet = ["-nostdin", "-loglevel", "error", "-re", "-stream_loop", "-1"];
        let ffmpeg = tool("ffmpeg")
            .args(quiet)
            .args(["-i", path(clip), "-c", "copy", "-f", form, to])
            .stdout(Stdio::null())
            .spawn();
        Self(ffmpeg.expect("ffmpeg runs"))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A clip with sound and a keyframe each half a second, small enough for the buffers of sockets.
fn small(dir: &Path) -> PathBuf {
    let (input, made) = (clip(BUNNY, dir), dir.join("small.mp4"));
    let coding = [
        "-s",
        "320x180",
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-bf",
        "2",
        "-g",
        "12",
        "-c:a",
        "aac",
        "-ar",
        "48000",
    ];
    ffmpeg(&[&["-i", path(&input), "-t", "4"], &coding[..], &[path(&made)]].concat());
    made
}

/// The slices of all pictures of a clip, and its packets of sound.
fn contents(clip: &Path) -> (HashSet<Vec<Vec<u8>>>, HashSet<Vec<u8>>) {
    let mut source = unpaced(clip);
    let frames: Vec<Frame> = std::iter::from_fn(|| source.next().expect("a frame")).collect();
    let of = |track| frames.iter().filter(move |frame| frame.track == track);
    let pictures = of(Track::Picture).map(|frame| slices(&frame.data)).collect();
    (pictures, of(Track::Sound).map(|frame| frame.data.to_vec()).collect())
}

/// Number of frames of each track, and of those that are none of the clip's.
fn judged(frames: &[Frame], (pictures, sounds): &(HashSet<Vec<Vec<u8>>>, HashSet<Vec<u8>>)) -> [usize; 3] {
    let of = |track| frames.iter().filter(|frame| frame.track == track).count();
    let foreign = |frame: &&Frame| match frame.track {
        Track::Picture => !pictures.contains(&slices(&frame.data)),
        Track::Sound => !sounds.contains(&frame.data[..]),
    };
    [
        of(Track::Picture),
        of(Track::Sound),
        frames.iter().filter(foreign).count(),
    ]
}

#[test]
fn what_ffmpeg_sends_to_a_port_is_the_clips_own_picture_and_sound() {
    let dir = home();
    let clip = small(dir.path());
    let expected = contents(&clip);
    for (form, url) in [("mpegts", "udp"), ("rtp_mpegts", "rtp")] {
        let port = free_port();
        let _sender = Sender::start(&clip, form, &format!("{url}://127.0.0.1:{port}?pkt_size=1316"));
        let more = if url == "rtp" { "?codec=ts" } else { "" };
        let whole = || {
            let mut source = open(&format!("{url}://127.0.0.1:{port}{more}"));
            let sound = source.sound().ok_or("no sound yet")?;
            assert_eq!((sound.codec, sound.samples_per_second), (SoundCodec::Aac, 48_000));
            let frames = receive(&mut *source, 150);
            assert!(frames[0].keyframe && frames[0].track == Track::Picture);
            let [pictures, sounds, foreign] = judged(&frames, &expected);
            match (pictures >= 40 && sounds >= 40, foreign, source.take_lost().count()) {
                (true, 0, 0) => Ok(()),
                seen => Err(format!("{seen:?} of {pictures} pictures and {sounds} packets of sound")),
            }
        };
        assert!(succeeds_once(url, whole), "{url}");
    }
}

#[test]
fn lost_packets_cost_pictures_up_to_a_keyframe_and_are_counted() {
    let dir = home();
    let clip = small(dir.path());
    let expected = contents(&clip);
    let (lossy, port) = (UdpSocket::bind("127.0.0.1:0").expect("a socket"), free_port());
    let to = format!("udp://{}?pkt_size=1316", lossy.local_addr().expect("bound"));
    thread::spawn(move || {
        let mut packet = [0; 2000];
        for number in 1_u32.. {
            let length = lossy.recv(&mut packet).expect("a packet");
            if number % 40 != 0 {
                // Nobody may listen yet.
                let _ = lossy.send_to(&packet[..length], ("127.0.0.1", port));
            }
        }
    });
    let _sender = Sender::start(&clip, "mpegts", &to);
    let mut source = open(&format!("udp://127.0.0.1:{port}"));
    let frames = receive(&mut *source, 300);
    let [pictures, _, foreign] = judged(&frames, &expected);
    let lost = source.take_lost();
    assert!(
        pictures > 20 && foreign == 0 && lost.damaged > 0,
        "{pictures} {foreign} {lost:?}"
    );
}

#[test]
fn strangers_at_the_port_change_nothing_and_are_counted() {
    let dir = home();
    let clip = small(dir.path());
    let (port, expected) = (free_port(), contents(&clip));
    let _sender = Sender::start(&clip, "mpegts", &format!("udp://127.0.0.1:{port}?pkt_size=1316"));
    let at = |address: &str| UdpSocket::bind((address, 0)).expect("a socket");
    let (near, far) = (at("127.0.0.1"), at("127.0.0.2"));
    let undisturbed = || {
        let mut source = open(&format!("udp://127.0.0.1:{port}?from=127.0.0.1"));
        let mut frames = Vec::new();
        for _ in 0..50 {
            far.send_to(&[0x47; 188], ("127.0.0.1", port)).expect("sent");
            near.send_to(b"hello", ("127.0.0.1", port)).expect("sent");
            frames.extend(source.next().ok().flatten());
        }
        let (strangers, [.., foreign]) = (source.take_strangers(), judged(&frames, &expected));
        match (strangers.address, strangers.format, frames.len(), foreign) {
            (40.., 40.., 50, 0) => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    };
    assert!(succeeds_once("undisturbed pictures", undisturbed));
}

#[test]
fn a_port_where_nothing_comes_or_something_else_is_told_in_words() {
    let port = free_port();
    let silent = failure(&format!("udp://127.0.0.1:{port}"));
    assert_eq!(silent.kind, FailureKind::Source);
    assert!(silent.to_string().contains("nothing comes to it"), "{silent}");
    let dir = home();
    let mpeg2 = dir.path().join("mpeg2.ts");
    let input = ["-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=2"];
    ffmpeg(&[&input[..], &["-c:v", "mpeg2video", path(&mpeg2)]].concat());
    let _sender = Sender::start(&mpeg2, "mpegts", &format!("udp://127.0.0.1:{port}"));
    let told = failure(&format!("udp://127.0.0.1:{port}")).to_string();
    assert!(told.contains("MPEG-2 video"), "{told}");
}
