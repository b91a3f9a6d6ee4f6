//! A viewer that records the stream and writes logs, and the evaluation of its files.

use std::fs;
use std::sync::LazyLock;
use std::time::Duration;

use super::{Clip, Home, Program, order, total, until};

/// Size of a recording in bytes from which on the stream certainly flows.
const FLOWING: u64 = 20_000;

/// Starts a viewer that records to a file, with logs and a report.
pub fn record(ticket: &str, more: &str) -> (Home, Program) {
    let home = Home::new();
    let options = "--to file:out.h264 --log-dir logs --report report.json";
    LazyLock::force(&OVERFLOWED_BEFORE);
    let program = home.start(&format!("watch {ticket} {options} {more}"));
    (home, program)
}

/// Number of datagrams that this system dropped because a socket's buffer was full.
fn overflows() -> u64 {
    let counters = fs::read_to_string("/proc/net/snmp").expect("Linux");
    let mut rows = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = rows.next().zip(rows.next()).expect("two rows");
    let mut columns = names.split(' ').zip(values.split(' '));
    let (_, count) = columns.find(|(name, _)| *name == "RcvbufErrors").expect("a column");
    count.parse().expect("a number")
}

/// The number before the first viewer of this process.
static OVERFLOWED_BEFORE: LazyLock<u64> = LazyLock::new(overflows);

/// True if the system dropped datagrams while this process ran.
pub fn overflowed() -> bool {
    overflows() > *OVERFLOWED_BEFORE
}

/// The number of frames that may be missing because the machine stood still, according to the `report.json` of both
/// ends: frames that waited in a queue for too long. Unlimited if an end was silent for so long that the other gave
/// up.
pub fn excused(ends: [(&Home, &Program); 2]) -> usize {
    if ends.iter().any(|(_, program)| program.heard_nothing()) {
        return usize::MAX;
    }
    let dropped = |home: &Home| total(&home.report("report.json"), "frames_dropped", "queue");
    let late = ends.iter().map(|(home, _)| dropped(home)).sum::<u64>();
    usize::try_from(late).expect("a test is short")
}

/// A frame as a viewer logged it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Number of the frame.
    pub number: u64,
    /// True if it can be decoded without earlier frames.
    pub keyframe: bool,
    /// Length of the access unit.
    pub bytes: u64,
    /// Wall clock time of its capture.
    pub captured_ns: u64,
    /// Wall clock time of its arrival.
    pub received_ns: u64,
}

impl Row {
    /// Time from capture to arrival; both ends have the same clock here.
    pub fn delay(self) -> Duration {
        Duration::from_nanos(self.received_ns.saturating_sub(self.captured_ns))
    }
}

impl Home {
    /// The bytes that a viewer with this home recorded.
    pub fn recorded(&self) -> Vec<u8> {
        fs::read(self.file("out.h264")).expect("a recording")
    }

    /// Fails unless the viewer with this home recorded the whole clip; the message lists missing frames and drop
    /// counters.
    pub fn assert_whole(&self, clip: &Clip, what: &str) {
        self.assert_whole_but_for(0, clip, what);
    }

    /// As [`Home::assert_whole`], but `excused` frames may be missing.
    pub fn assert_whole_but_for(&self, excused: usize, clip: &Clip, what: &str) {
        let received = self.recorded();
        if received == clip.bytes {
            return;
        }
        let frames = order(&received, &clip.frames);
        let missing: Vec<usize> = (0..clip.frames.len()).filter(|frame| !frames.contains(frame)).collect();
        let totals = &self.report("report.json")["totals"];
        println!("{what}: frames {missing:?} are missing, {excused} may be; the viewer: {totals}");
        assert!(missing.len() <= excused, "{what}: frames are missing or altered");
    }

    /// Current size of the recording.
    pub fn recorded_size(&self) -> u64 {
        fs::metadata(self.file("out.h264")).map_or(0, |file| file.len())
    }

    /// Waits until the viewer with this home watches and its recording grows.
    pub fn flows(&self, viewer: &Program) {
        viewer.says("INFO watching");
        until("the first frames", || (self.recorded_size() > FLOWING).then_some(()));
    }

    /// Waits until the recording has grown by `bytes`.
    pub fn grows_by(&self, bytes: u64) {
        let before = self.recorded_size();
        let grown = || (self.recorded_size() >= before + bytes).then_some(());
        until(&format!("{bytes} bytes more are recorded"), grown);
    }

    /// Checks that a new viewer can watch with this ticket; the viewer then ends.
    pub fn can_watch(ticket: &str) -> Self {
        let home = Self::new();
        let mut viewer = home.start(&format!("watch {ticket} --to file:out.h264"));
        home.flows(&viewer);
        assert_eq!(viewer.stop(), 0, "{}", viewer.said());
        home
    }

    /// The frames that a viewer received, from its log.
    pub fn rows(&self) -> Vec<Row> {
        let mut log = csv::Reader::from_path(self.file("logs/frames_latency.csv")).expect("a log");
        let headers = log.headers().expect("a head").clone();
        let column = |name: &str| headers.iter().position(|header| header == name).expect("a column");
        let columns = ["frame", "bytes", "captured_ns", "received_ns"].map(column);
        let keyframe = column("keyframe");
        let rows = log.records().map(|row| row.expect("a row"));
        rows.map(|row| {
            let [number, bytes, captured_ns, received_ns] =
                columns.map(|column| row[column].parse().expect("a number"));
            Row {
                number,
                keyframe: &row[keyframe] == "true",
                bytes,
                captured_ns,
                received_ns,
            }
        })
        .collect()
    }

    /// The numbers of the frames that a viewer received before and after a gap of two seconds.
    pub fn numbers_around_silence(&self) -> (Vec<u64>, Vec<u64>) {
        let rows = self.rows();
        let silence = |pair: &[Row]| pair[1].received_ns - pair[0].received_ns > 1_900_000_000;
        let last = rows.windows(2).position(silence).expect("two seconds without a frame");
        let mut numbers = self.numbers();
        let after = numbers.split_off(last + 1);
        (numbers, after)
    }

    /// The numbers of the frames that a viewer received.
    pub fn numbers(&self) -> Vec<u64> {
        self.rows().iter().map(|row| row.number).collect()
    }
}

/// The number of frames missing between the first and the last of these numbers, which must be strictly ascending.
pub fn gaps(numbers: &[u64]) -> usize {
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    let all = numbers
        .first()
        .zip(numbers.last())
        .map_or(0, |(first, last)| last - first + 1);
    usize::try_from(all).expect("a test is short") - numbers.len()
}
