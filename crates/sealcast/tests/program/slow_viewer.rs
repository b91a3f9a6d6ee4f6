//! Several viewers of one source, one of which cannot keep up: it alone pays for it.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use sealcast::media::Frame;
use sealcast::source::Source;
use sealcast_testkit::media::{ffmpeg, path, unpaced};
use sealcast_testkit::program::{PATIENCE, Program, file_url, home, number, publish, report, watch};
use tempfile::TempDir;

/// How long the slow viewer stands still each time: shorter than the silence after which it counts as lost.
const STANDSTILL: Duration = Duration::from_millis(1200);
/// Longest time between two frames of a viewer that is not slow: no longer than many a standstill.
const STALL_NS: u64 = 600_000_000;

/// Two seconds of noise in groups of ten frames: so many bytes that no socket holds a second of them.
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

/// What a viewer wrote down of a frame.
struct Row {
    frame: u64,
    keyframe: bool,
    received_ns: u64,
}

impl Viewer {
    fn start(ticket: &str) -> Self {
        let home = home();
        let (out, logs) = (home.path().join("out.h264"), home.path().join("logs"));
        let seen = home.path().join("report.json");
        let to = file_url(&out);
        let options = ["--to", &to, "--log-dir", path(&logs), "--report", path(&seen)];
        let program = watch(home.path(), ticket, &options);
        Self { home, program }
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
                received_ns: number(&row[8]),
            })
            .collect()
    }

    fn total(&self, pointer: &str) -> f64 {
        number(&report(&self.home.path().join("report.json")), pointer)
    }

    /// Every frame that came is, byte for byte, the one of its number.
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
    let options = ["--queue-frames", "15", "--report", path(&published)];
    let mut publisher = publish(publisher_home.path(), &(file_url(&clip) + "?loop"), &options);
    let mut viewers = [(); 3].map(|()| Viewer::start(&publisher.ticket));
    for viewer in &viewers {
        viewer.program.says("watching", PATIENCE);
    }
    sleep(Duration::from_millis(500));
    for _ in 0..3 {
        viewers[0].program.signal("STOP");
        sleep(STANDSTILL);
        viewers[0].program.signal("CONT");
        sleep(Duration::from_millis(600));
    }
    viewers.iter_mut().for_each(|viewer| viewer.program.stop());
    publisher.program.stop();

    let original = frames(&clip);
    let [slow, others @ ..] = &viewers;
    for viewer in others {
        let rows = viewer.rows();
        assert!(rows.len() > 100, "{} frames", rows.len());
        for pair in rows.windows(2) {
            assert_eq!(pair[1].frame, pair[0].frame + 1, "a frame is missing");
            let stall = pair[1].received_ns - pair[0].received_ns;
            assert!(stall < STALL_NS, "{stall} ns before frame {}", pair[1].frame);
        }
        viewer.assert_unaltered(&rows, &original);
    }
    let rows = slow.rows();
    slow.assert_unaltered(&rows, &original);
    let mut missing = 0;
    for pair in rows.windows(2).filter(|pair| pair[1].frame != pair[0].frame + 1) {
        assert!(pair[1].keyframe, "frame {} is of no use after a gap", pair[1].frame);
        missing += pair[1].frame - pair[0].frame - 1;
    }
    assert!(missing >= 10, "it was slow, and lost only {missing} frames");
    assert_eq!(
        number(&report(&published), "/totals/frames_dropped/queue"),
        missing as f64
    );
    assert_eq!(slow.total("/totals/frames_dropped/gap"), missing as f64);
    for viewer in others {
        assert_eq!(viewer.total("/totals/frames_dropped/gap"), 0.0);
    }
}
