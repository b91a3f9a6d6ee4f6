//! RTP without RTSP: packets of ffmpeg that come to a port.

use std::collections::HashSet;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use sealcast::media::Frame;
use sealcast::source::Strangers;
use sealcast_testkit::media::{STREET, clip, h265_clip, path, pictures, tool};
use sealcast_testkit::program::{PATIENCE, file_url, free_port, home, publish, succeeds_once, watch};

use super::rtsp_cameras::{failure, file_frames, open, receive, slices};

/// Has ffmpeg write the parameter sets before each keyframe.
const H264_IN_BAND: [&str; 2] = ["-bsf:v", "h264_mp4toannexb"];
const H265_IN_BAND: [&str; 2] = ["-bsf:v", "hevc_mp4toannexb"];

/// ffmpeg, which sends a clip again and again.
struct Sender {
    ffmpeg: Child,
    sdp: PathBuf,
}

impl Sender {
    fn start(clip: &Path, port: u16, more: &[&str]) -> Self {
        let (sdp, to) = (
            clip.with_extension("sdp"),
            format!("rtp://127.0.0.1:{port}?pkt_size=1400"),
        );
        let quiet = ["-nostdin", "-loglevel", "error", "-y", "-re", "-stream_loop", "-1"];
        let ffmpeg = tool("ffmpeg")
            .args(quiet)
            .args(["-i", path(clip), "-an", "-c", "copy"])
            .args(more)
            .args(["-f", "rtp", "-sdp_file", path(&sdp), &to])
            .stdout(Stdio::null())
            .spawn()
            .expect("ffmpeg runs");
        Self { ffmpeg, sdp }
    }

    /// The description of what it sends.
    fn description(&self) -> &Path {
        let written = || std::fs::read_to_string(&self.sdp).is_ok_and(|text| text.contains("m=video"));
        sealcast_testkit::program::until("ffmpeg describes what it sends", written);
        &self.sdp
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.ffmpeg.kill();
        let _ = self.ffmpeg.wait();
    }
}

#[test]
fn what_ffmpeg_sends_is_recorded_as_the_clips_own_pictures() {
    let dir = home();
    let (h264, h265) = (clip(STREET, dir.path()), h265_clip(dir.path()));
    for (clip, more, options) in [
        (&h264, &[][..], None),
        (&h264, &H264_IN_BAND, Some("")),
        (&h265, &H265_IN_BAND, Some("?codec=h265")),
    ] {
        let port = free_port();
        let sender = Sender::start(clip, port, more);
        let url = match options {
            Some(options) => format!("rtp://127.0.0.1:{port}{options}"),
            None => file_url(sender.description()),
        };
        let original = pictures(&["-i", path(clip)]);
        let recorded = || {
            let (homes, out) = ([home(), home()], dir.path().join("out.mp4"));
            let publisher = publish(homes[0].path(), &url, &["--retry"]);
            let to = format!("{}?overwrite", file_url(&out));
            let mut viewer = watch(homes[1].path(), &publisher.ticket, &["--to", &to, "--seconds", "15s"]);
            viewer.succeeds(PATIENCE);
            let shown = pictures(&["-i", path(&out)]);
            let others = shown.iter().filter(|digest| !original.contains(digest)).count();
            match shown.len() > 25 && others == 0 {
                true => Ok(()),
                false => Err(format!(
                    "{} pictures, {others} of them are none of the clip's",
                    shown.len()
                )),
            }
        };
        assert!(succeeds_once(&url, recorded), "{url}");
    }
}

/// Number of frames that are none of the clip's.
fn others(frames: &[Frame], clip: &[Frame]) -> usize {
    let clip: HashSet<_> = clip.iter().map(|frame| slices(&frame.data)).collect();
    frames
        .iter()
        .filter(|frame| !clip.contains(&slices(&frame.data)))
        .count()
}

/// A packet of H.264 that another source sends to the same port.
fn foreign(number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    [&[0x80, 96, high, low, 0, 0, 0, 0][..], b"else", &[0x61; 100]].concat()
}

#[test]
fn strangers_and_what_is_no_rtp_change_nothing_and_are_counted() {
    let dir = home();
    let (clip, port) = (clip(STREET, dir.path()), free_port());
    let _sender = Sender::start(&clip, port, &H264_IN_BAND);
    let at = |address: &str| UdpSocket::bind((address, 0)).expect("a socket");
    let (near, far) = (at("127.0.0.1"), at("127.0.0.2"));
    let expected = file_frames(&clip);
    let run = || {
        let mut source = open(&format!("rtp://127.0.0.1:{port}?from=127.0.0.1"));
        let mut frames = Vec::new();
        for number in 0..50 {
            for (socket, packet) in [
                (&far, foreign(number)),
                (&near, foreign(number)),
                (&near, b"hello".to_vec()),
            ] {
                socket.send_to(&packet, ("127.0.0.1", port)).expect("sent");
            }
            frames.extend(source.next().ok().flatten());
        }
        (frames, source.take_strangers(), source.take_lost())
    };
    let undisturbed = || {
        let (frames, strangers, lost) = run();
        let Strangers {
            address,
            format,
            source,
        } = strangers;
        // Of two sources the one that was there first stays; it takes some packets to know that there are two.
        if address < 40 || format < 40 || source < 10 {
            return Err(format!("{strangers:?}"));
        }
        match (frames.len(), others(&frames, &expected), lost.damaged) {
            (50, 0, 0..=1) => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    };
    assert!(succeeds_once("undisturbed pictures", undisturbed));
}

#[test]
fn a_sender_that_starts_again_goes_on_and_one_that_stops_is_told_in_words() {
    let dir = home();
    let (clip, port) = (clip(STREET, dir.path()), free_port());
    let expected = file_frames(&clip);
    let sender = Sender::start(&clip, port, &H264_IN_BAND);
    let mut source = open(&format!("rtp://127.0.0.1:{port}"));
    let before = receive(&mut *source, 30);
    drop(sender);
    let sender = Sender::start(&clip, port, &H264_IN_BAND);
    let after = receive(&mut *source, 60);
    assert_eq!(
        (others(&before, &expected), others(&after, &expected)),
        (0, 0),
        "they are the clip's"
    );
    let times = before.iter().chain(&after).map(|frame| frame.media_time);
    assert!(times.is_sorted(), "its time goes on");
    drop(sender);
    let told = std::iter::repeat_with(|| source.next()).find_map(Result::err);
    let told = told.expect("it is silent").to_string();
    assert!(told.contains("sends nothing any more"), "{told}");
    drop(source);
    // A child that another test is making has a copy of the socket until it runs its program.
    let freed = || UdpSocket::bind(("127.0.0.1", port)).is_ok();
    sealcast_testkit::program::until("the port is free", freed);
    let told = failure(&format!("rtp://127.0.0.1:{port}")).to_string();
    assert!(
        told.contains("nothing comes to it") && told.contains("rtp://"),
        "{told}"
    );
}

#[test]
fn a_port_that_is_taken_is_told_in_words() {
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let url = format!("rtp://{}", taken.local_addr().expect("bound"));
    let told = failure(&url).to_string();
    assert!(
        told.contains("cannot listen at") && told.contains("another program"),
        "{told}"
    );
}
