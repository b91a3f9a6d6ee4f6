//! The frames that a viewer received, from its own log.

use std::path::Path;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use crate::report::FRAME_STAGES;

/// The log of a viewer's frames, in its log folder.
pub(crate) const LOG: &str = "frames_latency.csv";

/// A row of the log. The publisher's stamps are in its clock, and the others in the viewer's.
#[derive(Debug, Deserialize)]
struct Row {
    frame: u64,
    #[serde(default)]
    keyframe: bool,
    bytes: f64,
    captured_ns: Option<i64>,
    sealed_ns: Option<i64>,
    received_ns: i64,
    opened_ns: i64,
    capture_us: Option<f64>,
    encode_us: Option<f64>,
    queue_us: Option<f64>,
    seal_us: Option<f64>,
    send_us: Option<f64>,
    network_us: Option<f64>,
    reassembly_us: Option<f64>,
    open_us: Option<f64>,
    wait_us: Option<f64>,
    decode_us: Option<f64>,
    present_us: Option<f64>,
    total_us: Option<f64>,
    /// It was kept for the viewer, which joined later.
    #[serde(default)]
    kept: bool,
}

/// A frame that was received. One that was kept for the viewer has no delays: they say nothing of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) number: u64,
    /// True if it can be decoded without earlier frames.
    pub(crate) keyframe: bool,
    /// Its size as encoded.
    pub(crate) bytes: f64,
    /// When it was sealed, in nanoseconds since 1970 by the publisher's clock.
    pub(crate) sealed_ns: Option<i64>,
    /// When it was received, in nanoseconds since 1970.
    pub(crate) received_ns: i64,
    /// From just before sealing until it was received; absent before the clocks were compared.
    pub(crate) network_ms: Option<f64>,
    /// From the complete picture until the viewer had opened the frame: end to end without decoding.
    pub(crate) delay_ms: Option<f64>,
    /// From the instant that the source stamped until the sink had passed the frame on: all stages.
    pub(crate) total_ms: Option<f64>,
    /// Each of [`FRAME_STAGES`], in microseconds.
    pub(crate) stages: [Option<f64>; FRAME_STAGES.len()],
}

impl Frame {
    /// Time that a stage took, in microseconds.
    ///
    /// # Panics
    /// There is no stage of this name.
    pub(crate) fn stage_us(&self, name: &str) -> Option<f64> {
        let at = FRAME_STAGES.iter().position(|stage| *stage == name);
        self.stages[at.expect("a stage")]
    }
}

/// Reads a log.
///
/// # Errors
/// It cannot be read, or is not of this form.
pub(crate) fn read(log: &Path) -> Result<Vec<Frame>> {
    let unreadable = |error: csv::Error| {
        let what = format!("{} cannot be read ({error})", log.display());
        Failure::new(FailureKind::Internal, what, "please report this")
    };
    let mut rows = csv::Reader::from_path(log).map_err(unreadable)?;
    rows.deserialize()
        .map(|row| row.map(frame).map_err(unreadable))
        .collect()
}

fn frame(row: Row) -> Frame {
    let between = |from: Option<i64>, to: Option<i64>| Some((to? - from?) as f64 * 1e-6);
    // Where the first two are not known, the third includes them.
    let before_network = row.seal_us.unwrap_or(0.0) + row.send_us.unwrap_or(0.0);
    let on_its_way = !row.kept;
    let network_ms = row
        .network_us
        .filter(|_| on_its_way)
        .map(|us| (us + before_network) * 1e-3);
    let before = between(row.captured_ns, row.sealed_ns);
    let after = between(Some(row.received_ns), Some(row.opened_ns));
    Frame {
        number: row.frame,
        keyframe: row.keyframe,
        bytes: row.bytes,
        sealed_ns: row.sealed_ns,
        received_ns: row.received_ns,
        network_ms,
        total_ms: row.total_us.filter(|_| on_its_way).map(|us| us * 1e-3),
        stages: [
            row.capture_us,
            row.encode_us,
            row.queue_us,
            row.seal_us,
            row.send_us,
            row.network_us,
            row.reassembly_us,
            row.open_us,
            row.wait_us,
            row.decode_us,
            row.present_us,
        ],
        delay_ms: before
            .zip(network_ms)
            .zip(after)
            .map(|((before, network), after)| before + network + after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_delay_is_taken_from_one_clock() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join(LOG);
        // The publisher's clock is an hour ahead; `network_us` has been corrected for it.
        let text = "frame,bytes,captured_ns,sealed_ns,received_ns,opened_ns,seal_us,send_us,network_us\n\
            7,900,3600000000000,3600002000000,1000000,1500000,300,700,3000\n8,900,,,2000000,2000000,,,\n";
        std::fs::write(&log, text).expect("a file");
        let frames = read(&log).expect("a log");
        let delays: Vec<_> = frames
            .iter()
            .map(|frame| (frame.number, frame.network_ms, frame.delay_ms))
            .collect();
        assert_eq!(delays, [(7, Some(4.0), Some(6.5)), (8, None, None)]);
        assert!(read(&folder.path().join("none")).is_err());
    }
}
