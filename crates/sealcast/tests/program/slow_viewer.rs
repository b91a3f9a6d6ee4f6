//! Several viewers of one source, one of which cannot keep up: only that one loses frames.

use std::path::{Path, PathBuf};

use sealcast::media::Frame;
use sealcast::source::Source;
use sealcast_testkit::media::{ffmpeg, path, unpaced};
use sealcast_testkit::program::{
    PATIENCE, Program, assert_accounted, counted_missing, file_url, home, number, publish, report, until, watch,
};
use serde_json::Value;
use tempfile::TempDir;

const CAME: &str = "sealcast_frames_total{dir=\"in\"}";
const DROPPED: &str = "sealcast_frames_dropped_total{cause=\"queue\"}";

/// Two seconds of noise in groups of ten frames: more bytes per second than the buffers of a socket hold.
fn noise(dir: &Path) -> PathBuf {
    let file = dir.join("noise.mp4");
    let input = "color=gray:size=640x480:rate=25:duration=2,noise=alls=100:allf=t+u";
    let groups = ["-g", "10", "-keyint_min", "10", "-sc_threshold", "0"];
    let coder = [
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-qp",
        "8",
        "-pix_fmt",
        "yuv420p",
    ];
    ffmpeg(&[&["-f", "lavfi", "-i", input], &coder[..], &groups, &[path(&file)]].concat());
    file
}

fn frames(file: &Path) -> Vec<Frame> {
    let mut source = unpaced(file);
    std::iter::from_fn(|| source.next().expect("a frame")).collect()
}

struct Viewer {
    home: TempDir,
    program: Program,
}

/// A frame in a viewer's log.
struct Row {
    frame: u64,
    keyframe: bool,
}

impl Viewer {
    fn start(ticket: &str) -> Self {
        let home = home();
        let (out, logs) = (home.path().join("out.h264"), home.path().join("logs"));
        let seen = home.path().join("report.json");
        let to = file_url(&out);
        let options = ["--to", &to, "--log-dir", path(&logs), "--report", path(&seen)];
        let program = watch(
            home.path(),
            ticket,
            &[&options[..], &["--metrics", "127.0.0.1:0"]].concat(),
        );
        Self { home, program }
    }

    fn goes_on(&self) {
        let before = self.program.counts(CAME);
        self.program.has_counted(CAME, before + 10.0);
    }

    fn rows(&self) -> Vec<Row> {
        let log = self.home.path().join("logs/frames_latency.csv");
        let mut log = csv::Reader::from_path(log).expect("a log");
        let number = |text: &str| text.parse().expect("a number");
        log.records()
            .map(|row| row.expect("a row"))
            .map(|row| Row {
                frame: number(&row[2]),
                keyframe: &row[3] == "true",
            })
            .collect()
    }

    fn report(&self) -> Value {
        report(&self.home.path().join("report.json"))
    }

    /// True if it had a single session, and its sink accepted all frames.
    fn undisturbed(&self) -> bool {
        let report = self.report();
        number(&report, "/totals/frames_dropped/queue") == 0.0
            && report["handshakes"].as_array().map(Vec::len) == Some(1)
    }

    /// Fails unless every received frame equals the sent frame of the same number, byte for byte.
    fn assert_unaltered(&self, rows: &[Row], original: &[Frame]) {
        let received = frames(&self.home.path().join("out.h264"));
        assert_eq!(received.len(), rows.len());
        for (row, received) in rows.iter().zip(&received) {
            let sent = &original[row.frame as usize % original.len()];
            assert!(received.data == sent.data, "frame {} is another one", row.frame);
            assert_eq!(row.keyframe, sent.keyframe);
        }
    }
}

#[test]
fn a_slow_viewer_loses_whole_groups_of_pictures_and_holds_nobody_up() {
    let (dir, publisher_home) = (home(), home());
    let clip = noise(dir.path());
    let published = dir.path().join("publisher.json");
    let metrics = ["--metrics", "127.0.0.1:0"];
    let options = [&["--queue-frames", "15", "--report", path(&published)], &metrics[..]].concat();
    let mut publisher = publish(publisher_home.path(), &(file_url(&clip) + "?loop"), &options);
    let mut viewers = [(); 3].map(|()| Viewer::start(&publisher.ticket));
    for viewer in &viewers {
        viewer.program.says("watching", PATIENCE);
    }
    for _ in 0..3 {
        let before = publisher.program.counts(DROPPED);
        viewers[0].program.signal("STOP");
        // The viewer is suspended until its queue is full. On a slow machine that may take longer than the publisher
        // waits for a silent viewer. The other viewers receive the stream all the while.
        until("frames are dropped", || {
            publisher.program.counts(DROPPED) > before || publisher.program.said().contains("WARN")
        });
        viewers[1..].iter().for_each(Viewer::goes_on);
        viewers[0].program.signal("CONT");
        viewers[0].goes_on();
    }
    viewers.iter_mut().for_each(|viewer| viewer.program.stop());
    publisher.program.stop();

    let original = frames(&clip);
    let mut missing = 0.0;
    for viewer in &viewers {
        let rows = viewer.rows();
        viewer.assert_unaltered(&rows, &original);
        let numbers: Vec<u64> = rows.iter().map(|row| row.frame).collect();
        assert_accounted(&numbers, &viewer.report());
        for pair in rows.windows(2).filter(|pair| pair[1].frame != pair[0].frame + 1) {
            assert!(pair[1].keyframe, "frame {} is of no use after a gap", pair[1].frame);
        }
        missing += counted_missing(&viewer.report());
    }
    assert!(
        missing > 0.0 || publisher.program.said().contains("WARN"),
        "it was slow, and lost no frame"
    );
    if viewers.iter().all(Viewer::undisturbed) {
        let dropped = number(&report(&published), "/totals/frames_dropped/queue");
        assert!(
            dropped >= missing,
            "{missing} frames are missing, {dropped} were dropped"
        );
    }
}
