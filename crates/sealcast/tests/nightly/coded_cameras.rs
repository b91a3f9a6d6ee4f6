//! Cameras of the machine that encode: a real video device that gives Motion JPEG and H.264, in a virtual machine. The
//! driver `v4l2loopback` gives out what a script there writes to it, frame by frame.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sealcast_testkit::media::{ffmpeg, path};
use sealcast_testkit::program::{Program, file_url, home, until, value_of, watch};
use serde_json::Value;

use crate::guest::{Guest, has_kernel};
use crate::local_cameras::{assert_stamps, publish, rows, watched};

/// Gives the files of a folder to a device in turn, each in one piece, for ever: `sh feed FORMAT FOLDER`.
const FEED: &str = "exec 3>/dev/video0
v4l2-ctl -d /dev/video0 -x width=320,height=180,pixelformat=$1 || exit
while :; do
  for frame in /given/$2/*; do
    dd if=$frame bs=1M >&3 2>/dev/null || exit
    echo >>/steps
    usleep 100000
  done
done
";

/// Frames that the script gives.
const FRAMES: usize = 60;
/// One in so many is a keyframe in H.264.
const GROUP: usize = 10;

/// Frames in the order in which the script gives them.
struct Clip {
    /// The folder, and its option of sealcast.
    name: &'static str,
    /// The device's name of the format.
    code: &'static str,
    frames: Vec<Vec<u8>>,
}

impl Clip {
    fn mjpeg() -> Self {
        Self::made("mjpeg", "MJPG", |folder| {
            let encoded = ["-c:v", "mjpeg", "-q:v", "4"];
            ffmpeg(&[&drawn()[..], &encoded, &["-f", "image2", path(&folder.join("%03d"))]].concat());
        })
    }

    fn h264() -> Self {
        Self::made("h264", "H264", |folder| {
            let scratch = home();
            let apart = folder.join("%03d");
            let whole = encoded(scratch.path());
            ffmpeg(&["-i", path(&whole), "-c", "copy", "-f", "image2", path(&apart)]);
        })
    }

    /// The same frames, as they come out of an MP4 file.
    fn h264_of(file: &Path) -> Self {
        Self::made("h264", "H264", |folder| {
            let apart = folder.join("%03d");
            let annex_b = ["-c", "copy", "-bsf:v", "h264_mp4toannexb", "-frames:v", "60"];
            ffmpeg(&[&["-i", path(file)], &annex_b[..], &["-f", "image2", path(&apart)]].concat());
        })
    }

    fn made(name: &'static str, code: &'static str, make: impl Fn(&Path)) -> Self {
        let folder = home();
        make(folder.path());
        let frame = |number: usize| std::fs::read(folder.path().join(format!("{number:03}"))).expect("a frame");
        let frames: Vec<_> = (1..=FRAMES).map(frame).collect();
        let different: BTreeSet<_> = frames.iter().collect();
        assert_eq!(different.len(), FRAMES, "frames of {name} cannot be told apart");
        Self { name, code, frames }
    }

    /// The numbers of the frames that a recording consists of. Fails if a byte of it is of none.
    fn numbers(&self, recording: &Path) -> Vec<usize> {
        let bytes = std::fs::read(recording).expect("a recording");
        let (mut rest, mut numbers) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let next = numbers.last().map_or(0, |last| last + 1);
            let mut candidates = (next..next + FRAMES).map(|number| number % FRAMES);
            let number = candidates.find(|number| rest.starts_with(&self.frames[*number]));
            let at = bytes.len() - rest.len();
            let number = number.unwrap_or_else(|| panic!("byte {at} of {} begins no frame", self.name));
            rest = &rest[self.frames[number].len()..];
            numbers.push(number);
        }
        numbers
    }

    /// The recording is frames of the clip in their order, and decodes from its first one on. Returns how often
    /// frames between two of them are missing.
    fn assert_passed(&self, recording: &Path) -> usize {
        let numbers = self.numbers(recording);
        println!("{}: {numbers:?}", self.name);
        assert!(numbers.len() > FRAMES / 4, "only {} frames", numbers.len());
        let begins = [0].into_iter().chain((1..numbers.len()).filter(|at| {
            let follows = (numbers[at - 1] + 1) % FRAMES;
            numbers[*at] != follows
        }));
        let begins: Vec<usize> = begins.map(|at| numbers[at]).collect();
        if self.name == "h264" {
            assert!(
                begins.iter().all(|number| number.is_multiple_of(GROUP)),
                "no keyframe at {begins:?}"
            );
        }
        begins.len() - 1
    }
}

/// A file of H.264 in the folder.
fn encoded(folder: &Path) -> PathBuf {
    let (file, group) = (folder.join("whole.h264"), GROUP.to_string());
    let encoded = ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", &group];
    ffmpeg(&[&drawn()[..], &encoded, &[path(&file)]].concat());
    file
}

fn drawn() -> [&'static str; 6] {
    ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=10", "-frames:v", "60"]
}

/// The driver of the device, and the network's.
const MODULES: [(&str, &str); 2] = [("e1000", ""), ("v4l2loopback", "")];

/// Boots the machine with clips. `cargo xtask cameras` says where its kernel is; without that there is nothing to test.
fn boot(clips: &[&Clip]) -> Option<Guest> {
    if !has_kernel() {
        return None;
    }
    let mut given = BTreeMap::from([("feed".to_owned(), FEED.as_bytes().to_vec())]);
    for clip in clips {
        for (number, frame) in clip.frames.iter().enumerate() {
            given.insert(format!("{}/{number:03}", clip.name), frame.clone());
        }
    }
    Some(Guest::boot(&MODULES, &[], &given))
}

/// Lets the device give a clip. The script's output goes to `/fed`.
fn feed(guest: &mut Guest, clip: &Clip) {
    let Clip { name, code, .. } = clip;
    guest.shell(&format!("sh /given/feed {code} {name} >/fed 2>&1 & echo $! >/feeder"));
    guest.until("sealcast devices; cat /fed", &format!("{name:<6} 320x180 at"));
}

/// Ends the script, and waits until nobody has the device open any more, which keeps its format.
fn stop_feeding(guest: &mut Guest) {
    guest.shell("kill $(cat /feeder)");
    guest.until("sealcast devices", "no format at all");
}

fn source(clip: &Clip) -> String {
    format!("v4l2:/dev/video0?format={}", clip.name)
}

/// A viewer that records until it is dropped.
struct Recorder {
    viewer: Program,
    home: tempfile::TempDir,
    recording: PathBuf,
}

impl Recorder {
    fn start(ticket: &str, clip: &Clip) -> Self {
        let home = home();
        let recording = home.path().join(format!("recording.{}", clip.name));
        let log = home.path().join("log");
        let to = ["--to", &file_url(&recording), "--log-dir", path(&log)];
        let viewer = watch(home.path(), ticket, &to);
        Self {
            viewer,
            home,
            recording,
        }
    }

    fn frames(&self) -> usize {
        let log = self.home.path().join("log/frames_latency.csv");
        std::fs::read_to_string(log).map_or(0, |text| text.lines().count().saturating_sub(1))
    }

    /// Waits for so many frames more.
    fn gets(&self, more: usize) {
        let before = self.frames();
        until("frames come", || self.frames() >= before + more);
    }
}

#[test]
fn coded_frames_of_a_real_device_pass_through_bit_for_bit() {
    let clips = [Clip::mjpeg(), Clip::h264()];
    let Some(mut guest) = boot(&[&clips[0], &clips[1]]) else {
        return;
    };
    let folder = home();
    for clip in &clips {
        feed(&mut guest, clip);
        let (json, _) = guest.shell("sealcast devices --json");
        let json: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}:\n{json}"));
        assert_eq!(json[0]["formats"][0]["format"], clip.name, "{json:#}");
        let ticket = publish(&mut guest, &source(clip), "");
        let out = folder.path().join(format!("out.{}", clip.name));
        assert_stamps(&watched(&ticket, &out), "frame_end");
        clip.assert_passed(&out);
        // What a player makes of it is what it makes of the clip.
        assert!(ffmpeg(&["-i", path(&out), "-f", "framemd5", "-"]).len() > 1000);
        guest.shell("killall sealcast; wait $!");
        stop_feeding(&mut guest);
    }
}

#[test]
fn the_command_of_the_documents_feeds_a_device_from_a_file() {
    if !has_kernel() {
        return;
    }
    let documents = std::fs::read_to_string("../../docs/cameras.md").expect("a document");
    let command = documents
        .lines()
        .find(|line| line.starts_with("ffmpeg ") && line.contains("-f v4l2"));
    let command = command.expect("a command").replace("CLIP.mp4", "/given/CLIP.mp4");
    let folder = home();
    let (long, clip) = (folder.path().join("long.h264"), folder.path().join("CLIP.mp4"));
    // Four minutes: the machine is slow.
    let whole = std::fs::read(encoded(folder.path())).expect("a file");
    std::fs::write(&long, whole.repeat(40)).expect("space");
    ffmpeg(&["-framerate", "10", "-i", path(&long), "-c", "copy", path(&clip)]);
    let given = BTreeMap::from([("CLIP.mp4".to_owned(), std::fs::read(&clip).expect("a file"))]);
    let mut guest = Guest::boot(&MODULES, &["ffmpeg"], &given);
    guest.shell(&format!("{command} </dev/null >/fed 2>&1 &"));
    guest.until("sealcast devices; cat /fed", "h264   320x180 at");
    let ticket = publish(&mut guest, "v4l2:/dev/video0", "");
    let out = folder.path().join("out.h264");
    assert_stamps(&watched(&ticket, &out), "frame_end");
    Clip::h264_of(&clip).assert_passed(&out);
}

#[test]
fn a_viewer_who_joins_an_h264_camera_begins_at_a_keyframe() {
    let clip = Clip::h264();
    let Some(mut guest) = boot(&[&clip]) else { return };
    feed(&mut guest, &clip);
    let ticket = publish(&mut guest, &source(&clip), "");
    let mut first = Recorder::start(&ticket, &clip);
    first.gets(GROUP / 2);
    let mut second = Recorder::start(&ticket, &clip);
    second.gets(2 * GROUP);
    for recorder in [&mut first, &mut second] {
        recorder.viewer.stop();
        clip.assert_passed(&recorder.recording);
    }
}

#[test]
fn frames_that_the_driver_drops_are_counted_and_h264_goes_on_at_a_keyframe() {
    let clip = Clip::h264();
    let Some(mut guest) = boot(&[&clip]) else { return };
    feed(&mut guest, &clip);
    let ticket = publish(
        &mut guest,
        &source(&clip),
        "--report /report.json --metrics 127.0.0.1:9100",
    );
    let mut recorder = Recorder::start(&ticket, &clip);
    recorder.gets(GROUP);
    let steps = "$(wc -l </steps)";
    guest.shell(&format!("killall -STOP sealcast; end=$(({steps} + 8))"));
    guest.shell(&format!(
        "while [ {steps} -lt $end ]; do sleep 1; done; killall -CONT sealcast"
    ));
    recorder.gets(2 * GROUP);
    let (metrics, _) = guest.shell("wget -q -O - http://127.0.0.1:9100/metrics | grep frames_dropped");
    let counted = |cause: &str| {
        let name = format!("sealcast_frames_dropped_total{{cause=\"{cause}\"}}");
        value_of(&metrics, &name) as u64
    };
    // Of the eight that came meanwhile the driver keeps four at most.
    assert!(counted("source") >= 4, "{metrics}");
    recorder.viewer.stop();
    assert!(clip.assert_passed(&recorder.recording) > 0, "nothing is missing");
    guest.shell("killall sealcast; wait $!");
    let (report, _) = guest.shell("cat /report.json");
    let report: Value = serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}:\n{report}"));
    let dropped = &report["totals"]["frames_dropped"];
    assert!(dropped["source"].as_u64() >= Some(counted("source")), "{dropped}");
}

#[test]
fn a_device_that_nobody_feeds_any_more_ends_the_publisher_in_words() {
    let clip = Clip::mjpeg();
    let Some(mut guest) = boot(&[&clip]) else { return };
    feed(&mut guest, &clip);
    publish(&mut guest, &source(&clip), "");
    stop_feeding(&mut guest);
    let (_, code) = guest.shell("wait $!");
    let (said, _) = guest.shell("cat /said");
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("opening the camera again"), "{said}");
    assert!(said.contains("/dev/video0 sends nothing"), "{said}");
    let (said, code) = guest.shell(&format!(
        "sealcast publish '{}' --listen tcp://127.0.0.1:0 2>&1",
        source(&clip)
    ));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("/dev/video0 offers no format at all"), "{said}");
}

#[test]
fn viewers_wait_while_the_driver_of_a_camera_is_away() {
    for clip in [Clip::mjpeg(), Clip::h264()] {
        let Some(mut guest) = boot(&[&clip]) else { return };
        feed(&mut guest, &clip);
        let ticket = publish(&mut guest, &source(&clip), "--retry");
        let mut recorder = Recorder::start(&ticket, &clip);
        recorder.gets(GROUP);
        stop_feeding(&mut guest);
        guest.until("cat /said", "the camera is off: it is opened again");
        guest.until("rmmod v4l2loopback 2>&1; ls /dev/video0 2>&1", "No such file");
        guest.shell("insmod /modules/v4l2loopback");
        feed(&mut guest, &clip);
        guest.until("cat /said", "the camera is on again");
        recorder.gets(2 * GROUP);
        recorder.viewer.stop();
        clip.assert_passed(&recorder.recording);
        let rows = rows(&recorder.home.path().join("log/frames_latency.csv"));
        let stamps: Vec<u64> = rows.iter().map(|row| row[2].parse().expect("a number")).collect();
        assert!(
            stamps.windows(2).all(|pair| pair[0] < pair[1]),
            "stamps go back: {stamps:?}"
        );
    }
}
