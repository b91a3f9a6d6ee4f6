//! The rows that probe and viewer gateway logged.

use std::ops::Range;
use std::path::Path;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A picture that the probe decoded: a row of `probe_frames.csv`.
#[derive(Debug, Deserialize)]
struct Picture {
    decoded_ns: Option<i64>,
    latency_ms: Option<f64>,
}

/// A sealed unit at the viewer gateway: a row of `network_latency.csv`.
#[derive(Debug, Deserialize)]
struct Unit {
    bytes: f64,
    opened_ns: i64,
    link_us: Option<f64>,
}

/// Units of a time.
pub(super) struct Units {
    /// From just before sealing until they were opened.
    pub(super) latencies_ms: Vec<f64>,
    pub(super) bytes: f64,
}

/// The video latencies of pictures that were decoded in this time, in nanoseconds since 1970.
///
/// # Errors
/// The log cannot be read.
pub(super) fn pictures(log: &Path, time: &Range<i64>) -> Result<Vec<f64>> {
    let rows: Vec<Picture> = read(log)?;
    let own = rows
        .iter()
        .filter(|row| row.decoded_ns.is_some_and(|at| time.contains(&at)));
    Ok(own.filter_map(|row| row.latency_ms).collect())
}

/// The units that were opened in this time.
///
/// # Errors
/// The log cannot be read.
pub(super) fn units(log: &Path, time: &Range<i64>) -> Result<Units> {
    let rows: Vec<Unit> = read(log)?;
    let own = || rows.iter().filter(|row| time.contains(&row.opened_ns));
    Ok(Units {
        latencies_ms: own().filter_map(|row| row.link_us).map(|us| us * 1e-3).collect(),
        bytes: own().map(|row| row.bytes).sum(),
    })
}

fn read<T: DeserializeOwned>(log: &Path) -> Result<Vec<T>> {
    let unreadable = |error: csv::Error| {
        let what = format!("{} cannot be read ({error})", log.display());
        Failure::new(FailureKind::Internal, what, "please report this")
    };
    let mut rows = csv::Reader::from_path(log).map_err(unreadable)?;
    rows.deserialize().map(|row| row.map_err(unreadable)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_in_the_time_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log.csv");
        std::fs::write(&log, "frame,decoded_ns,latency_ms\n1,5,1.5\n2,10,2.5\n3,,\n4,20,9\n").expect("a file");
        assert_eq!(pictures(&log, &(6..20)).expect("a log"), [2.5]);
        std::fs::write(&log, "bytes,opened_ns,link_us\n100,5,\n200,7,1500\n300,30,1\n").expect("a file");
        let units = units(&log, &(0..10)).expect("a log");
        assert_eq!((units.latencies_ms, units.bytes), (vec![1.5], 300.0));
        assert!(pictures(&folder.path().join("none"), &(0..1)).is_err());
    }
}
