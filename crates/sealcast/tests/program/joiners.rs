//! Viewers that join in the middle of a group of pictures have a picture at once, from sources that make no keyframe
//! when they are asked. Everything is counted in frames: while such a viewer begins, the source makes no frame at all.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ChildStdin;

use sealcast::source::Source;
use sealcast_testkit::media::{ffmpeg, path, unpaced};
use sealcast_testkit::program::{
    MANY_USES, PATIENCE, Program, Publisher, counted_missing, file_url, home, number, report, sealcast, succeeds_once,
    watch,
};

use super::groups::{FRAMES_IN, MEMBER};

/// Frames between two keyframes, which is more than a queue holds.
const GROUP_OF_PICTURES: usize = 80;
/// Frames of the source when the viewer joins.
const BEFORE: usize = 70;
const FRAMES: usize = 120;
/// TCP without dropping what is late because a machine stands still.
const PATIENT_TCP: &str = "tcp://127.0.0.1:0?latency=10000";
const MADE: &str = "sealcast_stage_seconds_count{stage=\"encode\"}";

/// The access units of a stream with few keyframes.
fn stream(dir: &Path) -> Vec<Vec<u8>> {
    let file = dir.join("stream.h264");
    let input = format!("testsrc=size=320x240:rate=25,trim=end_frame={FRAMES}");
    let group = GROUP_OF_PICTURES.to_string();
    let coder = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];
    let groups = ["-g", &group, "-keyint_min", &group, "-sc_threshold", "0", "-bf", "0"];
    ffmpeg(&[&["-f", "lavfi", "-i", &input], &coder[..], &groups, &[path(&file)]].concat());
    let mut source = unpaced(&file);
    let units: Vec<_> = std::iter::from_fn(|| source.next().expect("a frame"))
        .map(|frame| frame.data.to_vec())
        .collect();
    assert_eq!(units.len(), FRAMES);
    units
}

/// A camera whose frames the test makes one by one.
struct Camera {
    publisher: Publisher,
    input: Option<ChildStdin>,
    units: Vec<Vec<u8>>,
    fed: usize,
}

impl Camera {
    fn start(home: &Path, listen: &str, more: &[&str]) -> Self {
        let units = stream(home);
        let mut command = sealcast(home);
        command.args(["publish", "-", "--listen", listen, "--ticket-file", "-"]);
        command.args(["--metrics", "127.0.0.1:0"]).args(MANY_USES).args(more);
        let (program, mut input) = Program::run_fed("the publisher", command);
        // The source is open once it has seen a whole frame.
        input.write_all(&units[..2].concat()).expect("it reads");
        let publisher = Publisher {
            ticket: program.line(),
            program,
        };
        publisher.program.says("publishing", PATIENCE);
        Self {
            publisher,
            input: Some(input),
            units,
            fed: 2,
        }
    }

    /// Makes frames until there are as many.
    fn make(&mut self, frames: usize) {
        // A frame ends where the next one begins.
        let with_next = (frames + 1).min(self.units.len());
        let input = self.input.as_mut().expect("the stream goes on");
        for unit in &self.units[self.fed..with_next] {
            input.write_all(unit).expect("it reads");
        }
        self.fed = with_next;
        self.publisher.program.has_counted(MADE, frames as f64);
    }
}

/// A viewer, and what it writes.
fn joins(home: &Path, camera: &Camera) -> Program {
    let (to, seen) = (file_url(&home.join("out.h264")), home.join("report.json"));
    let options = ["--to", &to, "--report", path(&seen), "--metrics", "127.0.0.1:0"];
    watch(
        home,
        &camera.publisher.ticket,
        &[&options[..], &["--latency", "10000"]].concat(),
    )
}

/// A viewer joins in the middle of a group of pictures and gets it without another frame being made; then the rest,
/// each frame once, and the publisher says `words`. An error says that the machine stood still meanwhile: over
/// datagrams frames were left out and counted, or the session was given up for another. Over TCP nothing is late.
fn has_a_picture_at_once(listen: &str, more: &[&str], words: &str) -> Result<(), String> {
    let (near, far) = (home(), home());
    let mut camera = Camera::start(near.path(), listen, more);
    camera.make(BEFORE);
    let mut viewer = joins(far.path(), &camera);
    viewer.says("watching", PATIENCE);
    viewer.has_counted(FRAMES_IN, BEFORE as f64);
    assert!(camera.publisher.program.counts(MADE) <= BEFORE as f64);
    // The last one ends with the stream.
    camera.make(FRAMES - 1);
    camera.input = None;
    viewer.succeeds(PATIENCE);
    let (got, sent) = (
        fs::read(far.path().join("out.h264")).expect("a file"),
        camera.units.concat(),
    );
    let report = report(&far.path().join("report.json"));
    if got != sent {
        let came = format!("{} of {} bytes", got.len(), sent.len());
        let sessions = report["handshakes"].as_array().expect("a list").len();
        let left_out = !listen.starts_with("tcp") && counted_missing(&report) > 0.0;
        assert!(sessions > 1 || left_out, "{came}, and nothing counted as missing");
        return Err(came);
    }
    // How old they were says nothing of the path.
    let measured = number(&report, "/stages/end_to_end/count");
    let on_the_way = (FRAMES - BEFORE) as f64;
    assert!(measured <= on_the_way, "{measured} frames were on their way");
    camera.publisher.program.says(words, PATIENCE);
    Ok(())
}

#[test]
fn whoever_joins_gets_the_group_of_pictures_so_far_over_each_transport() {
    for listen in [PATIENT_TCP, "udp://127.0.0.1:0", "quic://127.0.0.1:0"] {
        let joins = || has_a_picture_at_once(listen, &[], "a viewer watches");
        assert!(succeeds_once(listen, joins), "{listen}: never all of it");
    }
}

#[test]
fn whoever_joins_a_group_is_served_alone_until_there_is_a_keyframe_for_all() {
    for listen in [PATIENT_TCP, "udp://127.0.0.1:0"] {
        let joins = || has_a_picture_at_once(listen, &["--group", "--sign", "both"], MEMBER);
        assert!(succeeds_once(listen, joins), "{listen}: never all of it");
    }
}
