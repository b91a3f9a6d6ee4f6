//! The frames that a viewer received, from its own log.

use std::path::Path;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

/// The log of a viewer's frames, in its log folder.
pub(super) const LOG: &str = "frames_latency.csv";

/// A row of the log. The publisher's stamps are in its clock, and the others in the viewer's.
#[derive(Debug, Deserialize)]
struct Row {
    frame: u64,
    captured_ns: Option<i64>,
    sealed_ns: Option<i64>,
    received_ns: i64,
    opened_ns: i64,
    seal_us: Option<f64>,
    send_us: Option<f64>,
    network_us: Option<f64>,
}

/// A frame that was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) number: u64,
    /// When it was received, in nanoseconds since 1970.
    pub(super) received_ns: i64,
    /// From just before sealing until it was received; absent before the clocks were compared.
    pub(super) network_ms: Option<f64>,
    /// From the complete picture until the viewer had opened the frame: end to end without decoding.
    pub(super) delay_ms: Option<f64>,
}

/// Reads a log.
///
/// # Errors
/// It cannot be read, or is not of this form.
pub(super) fn read(log: &Path) -> Result<Vec<Frame>> {
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
    let network_ms = row.network_us.map(|us| (us + before_network) * 1e-3);
    let before = between(row.captured_ns, row.sealed_ns);
    let after = between(Some(row.received_ns), Some(row.opened_ns));
    Frame {
        number: row.frame,
        received_ns: row.received_ns,
        network_ms,
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
        let text = "frame,captured_ns,sealed_ns,received_ns,opened_ns,seal_us,send_us,network_us\n\
            7,3600000000000,3600002000000,1000000,1500000,300,700,3000\n8,,,2000000,2000000,,,\n";
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
