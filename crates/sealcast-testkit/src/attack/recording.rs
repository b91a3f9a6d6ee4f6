//! A viewer that records all it gets and writes everything down, and what it wrote.

use std::fs;
use std::time::Duration;

use super::{Clip, Home, Program, order, until};

/// Bytes of a recording by which it is clear that the stream flows.
const FLOWING: u64 = 20_000;

/// Watch into a file, with logs and a report.
pub fn record(ticket: &str, more: &str) -> (Home, Program) {
    let home = Home::new();
    let options = "--to file:out.h264 --log-dir logs --report report.json";
    let program = home.start(&format!("watch {ticket} {options} {more}"));
    (home, program)
}

/// What a viewer wrote down of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The frame's number.
    pub number: u64,
    /// Whether it can be decoded without those before.
    pub keyframe: bool,
    /// The publisher's wall clock when it had the frame, in nanoseconds since 1970.
    pub captured_ns: u64,
    /// The viewer's wall clock when it had received the frame, in nanoseconds since 1970.
    pub received_ns: u64,
}

impl Row {
    /// From the picture to the viewer; both ends have the same clock here.
    pub fn delay(self) -> Duration {
        Duration::from_nanos(self.received_ns.saturating_sub(self.captured_ns))
    }
}

impl Home {
    /// The bytes that a viewer recorded here.
    pub fn recorded(&self) -> Vec<u8> {
        fs::read(self.file("out.h264")).expect("a recording")
    }

    /// Fails unless the viewer with this home recorded all of a clip; says then what is missing and what was dropped.
    pub fn assert_whole(&self, clip: &Clip, what: &str) {
        let received = self.recorded();
        if received == clip.bytes {
            return;
        }
        let frames = order(&received, &clip.frames);
        let missing: Vec<usize> = (0..clip.frames.len()).filter(|frame| !frames.contains(frame)).collect();
        let totals = &self.report("report.json")["totals"];
        panic!("{what}: frames {missing:?} are missing or altered; the viewer: {totals}");
    }

    /// How long the recording is by now.
    pub fn recorded_size(&self) -> u64 {
        fs::metadata(self.file("out.h264")).map_or(0, |file| file.len())
    }

    /// Wait until the viewer with this home watches and its recording grows.
    pub fn flows(&self, viewer: &Program) {
        viewer.says("INFO watching");
        until("the first frames", || (self.recorded_size() > FLOWING).then_some(()));
    }

    /// The frames that a viewer got, as its log has them.
    pub fn rows(&self) -> Vec<Row> {
        let mut log = csv::Reader::from_path(self.file("logs/frames_latency.csv")).expect("a log");
        let headers = log.headers().expect("a head").clone();
        let column = |name: &str| headers.iter().position(|header| header == name).expect("a column");
        let columns = ["frame", "captured_ns", "received_ns"].map(column);
        let keyframe = column("keyframe");
        let rows = log.records().map(|row| row.expect("a row"));
        rows.map(|row| {
            let [number, captured_ns, received_ns] = columns.map(|column| row[column].parse().expect("a number"));
            Row {
                number,
                keyframe: &row[keyframe] == "true",
                captured_ns,
                received_ns,
            }
        })
        .collect()
    }

    /// The numbers of the frames that a viewer got.
    pub fn numbers(&self) -> Vec<u64> {
        self.rows().iter().map(|row| row.number).collect()
    }
}

/// Fails unless many frames came, each the one after the one before.
pub fn assert_no_gap(numbers: &[u64]) {
    assert!(numbers.len() > 10, "{numbers:?}");
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}
