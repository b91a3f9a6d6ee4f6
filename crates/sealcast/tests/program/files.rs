//! A file published by one process and watched by another arrives whole, in every form of output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

use sealcast::failure::FailureKind;
use sealcast::media::{Frame, Orientation};
use sealcast::source::Source;
use sealcast_testkit::media::{STREET, STREET_MJPEG, clip, ffmpeg, path, pictures, times, tool, unpaced};
use sealcast_testkit::program::{
    PATIENCE, Publisher, beginning, file_url, home, publish, publish_by, sealcast, unbroken, watch, watch_piped,
};
use tempfile::TempDir;

const SECONDS: u32 = 3;
const FRAMES: usize = 75;
const ENOUGH: Duration = Duration::from_secs(SECONDS as u64 + PATIENCE.as_secs());

/// A clip, and homes for both ends.
struct Scene {
    dir: TempDir,
    clip: PathBuf,
    publisher: TempDir,
    viewer: TempDir,
}

fn scene(name: &str) -> Scene {
    let dir = home();
    let whole = dir.path().join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(name, &whole), SECONDS, dir.path());
    Scene {
        dir,
        clip,
        publisher: home(),
        viewer: home(),
    }
}

impl Scene {
    fn publish(&self) -> Publisher {
        publish(self.publisher.path(), &file_url(&self.clip), &[])
    }

    /// Publishes the clip and watches it to a file; both processes must end by themselves and succeed.
    fn watched_to(&self, name: &str) -> PathBuf {
        let out = self.dir.path().join(name);
        let to = file_url(&out) + "?overwrite";
        unbroken(|| {
            let mut publisher = self.publish();
            let mut viewer = watch(self.viewer.path(), &publisher.ticket, &["--to", &to, "--no-reconnect"]);
            let code = viewer.ends(ENOUGH);
            publisher.program.succeeds(ENOUGH);
            whole(code)
        });
        out
    }
}

/// Returns `Some` if the exit code of a viewer that does not reconnect says that it saw the clip to its end.
fn whole(code: i32) -> Option<()> {
    let broke = i32::from(FailureKind::Network.exit_code());
    assert!(code == 0 || code == broke, "exit code {code}");
    (code == 0).then_some(())
}

fn frames(file: &Path) -> Vec<Frame> {
    let mut source = unpaced(file);
    std::iter::from_fn(|| source.next().expect("a frame")).collect()
}

fn assert_same_frames(received: &Path, original: &Path) {
    let (received, original) = (frames(received), frames(original));
    assert_eq!((received.len(), original.len()), (FRAMES, FRAMES));
    for (at, (received, original)) in received.iter().zip(&original).enumerate() {
        assert_eq!(received.keyframe, original.keyframe, "frame {at}");
        assert_eq!(received.data, original.data, "frame {at}");
    }
}

fn assert_same_pictures(received: &Path, original: &Path) {
    let original = pictures(&["-i", path(original)]);
    assert_eq!(original.len(), FRAMES);
    assert_eq!(pictures(&["-i", path(received)]), original);
}

/// Output of a program that gets a stream on its standard input, within two minutes; `None` if it fails.
fn fed(player: &[&str], input: impl Into<Stdio>) -> Option<Vec<u8>> {
    let mut command = tool("timeout");
    command.arg("120").args(player).stdin(input).stderr(Stdio::inherit());
    let output = command.output().expect("the player runs");
    output.status.success().then_some(output.stdout)
}

fn piped_into(scene: &Scene, player: impl Fn(ChildStdout) -> Option<Vec<u8>>) -> Vec<u8> {
    unbroken(|| {
        let mut publisher = scene.publish();
        let (mut viewer, video) = watch_piped(scene.viewer.path(), &publisher.ticket);
        let output = player(video);
        let code = viewer.ends(PATIENCE);
        publisher.program.succeeds(ENOUGH);
        whole(code).map(|()| output.expect("the player failed"))
    })
}

#[test]
fn every_frame_of_a_clip_arrives_byte_for_byte() {
    let scene = scene(STREET);
    let out = scene.watched_to("out.h264");
    assert_same_frames(&out, &scene.clip);
    assert_same_pictures(&out, &scene.clip);
}

#[test]
fn an_mp4_of_the_stream_plays_with_the_same_pictures_at_the_same_times() {
    let scene = scene(STREET);
    let out = scene.watched_to("out.mp4");
    let probe = tool("ffprobe")
        .args([
            "-v",
            "error",
            "-show_entries",
            "stream=codec_name,width,height",
            "-of",
            "csv=p=0",
        ])
        .arg(&out)
        .output()
        .expect("ffprobe runs");
    assert_eq!(String::from_utf8_lossy(&probe.stdout).trim(), "h264,640,480");
    assert!(probe.stderr.is_empty(), "{}", String::from_utf8_lossy(&probe.stderr));
    assert_same_pictures(&out, &scene.clip);
    assert_eq!(times(&out), times(&scene.clip));
}

/// The matrix of a track that is shown after a quarter turn clockwise, as a phone writes it that was held upright.
const MATRIX: [i32; 9] = [0, 65_536, 0, -65_536, 0, 0, 480 * 65_536, 0, 1 << 30];

/// Has a clip shown after a quarter turn clockwise, which is returned.
pub(super) fn turn(clip: &Path) -> Orientation {
    /// Bytes between the name of a track's header and its matrix.
    const BEFORE_MATRIX: usize = 44;
    let mut bytes = std::fs::read(clip).expect("the clip");
    let at = bytes.windows(4).position(|name| name == b"tkhd").expect("a track") + BEFORE_MATRIX;
    bytes[at..at + 36].copy_from_slice(&MATRIX.map(i32::to_be_bytes).concat());
    std::fs::write(clip, bytes).expect("space");
    let turned = Orientation::new(1, false);
    assert_eq!(unpaced(clip).orientation(), turned);
    turned
}

#[test]
fn a_clip_that_is_shown_turned_is_recorded_turned() {
    let scene = scene(STREET);
    let turned = turn(&scene.clip);
    let out = scene.watched_to("out.mp4");
    assert_eq!(unpaced(&out).orientation(), turned);
    let written = std::fs::read(&out).expect("the recording");
    let at = written.windows(4).position(|name| name == b"tkhd").expect("a track");
    let words = written[at..]
        .windows(36)
        .any(|window| window == MATRIX.map(i32::to_be_bytes).concat());
    assert!(words, "players read the same matrix");
    assert_same_frames(&out, &scene.clip);
}

#[test]
fn motion_jpeg_arrives_byte_for_byte() {
    let scene = scene(STREET_MJPEG);
    let out = scene.watched_to("out.mjpeg");
    assert_same_frames(&out, &scene.clip);
}

#[test]
fn ffmpeg_plays_the_stream_from_a_pipe() {
    let scene = scene(STREET);
    let played = piped_into(&scene, |video| {
        let input = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-f", "h264", "-i", "-"];
        let output = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"];
        fed(&[&input[..], &output].concat(), video)
    });
    assert!(played == raw(&scene.clip), "ffmpeg saw other pictures");
}

#[test]
fn gstreamer_plays_the_stream_from_a_pipe() {
    let scene = scene(STREET);
    let played = piped_into(&scene, |video| {
        let decoder = [
            "gst-launch-1.0",
            "-q",
            "fdsrc",
            "!",
            "h264parse",
            "!",
            "avdec_h264",
            "!",
            "videoconvert",
            "!",
        ];
        let output = ["video/x-raw,format=I420", "!", "fdsink"];
        fed(&[&decoder[..], &output].concat(), video)
    });
    assert_eq!(played.len(), FRAMES * 640 * 480 * 3 / 2);
    assert!(played == raw(&scene.clip), "GStreamer saw other pictures");
}

fn raw(clip: &Path) -> Vec<u8> {
    let input = ["-i", path(clip), "-fps_mode", "passthrough"];
    let raw = ffmpeg(&[&input[..], &["-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]].concat());
    assert_eq!(raw.len(), FRAMES * 640 * 480 * 3 / 2);
    raw
}

/// Interval between the pictures of the live stream.
const INTERVAL: Duration = Duration::from_millis(40);

#[test]
fn a_live_stream_on_standard_input_is_published_to_its_last_frame() {
    let scene = scene(STREET);
    let stream = scene.dir.path().join("stream.h264");
    let encoder = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "5"];
    ffmpeg(&[&["-i", path(&scene.clip)], &encoder[..], &[path(&stream)]].concat());
    let original = frames(&stream);
    let out = scene.dir.path().join("out.h264");
    let to = file_url(&out) + "?overwrite";
    unbroken(|| {
        let mut camera = tool("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cat runs");
        let mut feed = camera.stdin.take().expect("piped");
        // Enough data at once that the publisher can recognise the format.
        let (begin, rest) = original.split_at(6);
        begin
            .iter()
            .for_each(|frame| feed.write_all(&frame.data).expect("a pipe"));
        let mut command = sealcast(scene.publisher.path());
        // No frame is dropped for being late, however busy the machine is.
        let listen = "tcp://127.0.0.1:0?latency=10000";
        command.args(["publish", "-", "--listen", listen, "--queue-frames", "100"]);
        command.stdin(camera.stdout.take().expect("piped"));
        let mut publisher = publish_by(command);
        let options = ["--to", &to, "--no-reconnect", "--latency", "10000"];
        let mut viewer = watch(scene.viewer.path(), &publisher.ticket, &options);
        publisher.program.says("a viewer watches", PATIENCE);
        for frame in rest {
            feed.write_all(&frame.data).expect("a pipe");
            thread::sleep(INTERVAL);
        }
        drop(feed);
        assert!(camera.wait().is_ok_and(|status| status.success()));
        let code = viewer.ends(PATIENCE);
        publisher.program.succeeds(PATIENCE);
        whole(code)
    });
    let received = frames(&out);
    // Frames from before the viewer watched are missing.
    let missed = original.len() - received.len();
    assert!(
        !received.is_empty() && received[0].keyframe,
        "{missed} frames are missing"
    );
    for (at, (received, original)) in received.iter().zip(&original[missed..]).enumerate() {
        assert_eq!(received.data, original.data, "frame {}", missed + at);
    }
}
