//! The power that an end logged.

use std::path::Path;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

/// The log of an end's resources, in its log folder.
const LOG: &str = "steady_stream.csv";

#[derive(Deserialize)]
struct Row {
    time: String,
    power_watts: Option<f64>,
}

/// When power was logged, in nanoseconds since 1970, and how many watts. Nothing without a meter or a log.
///
/// # Errors
/// The log cannot be read, or is not of this form.
pub(super) fn rows(logs: &Path) -> Result<Vec<(i64, f64)>> {
    let log = logs.join(LOG);
    if !log.is_file() {
        return Ok(Vec::new());
    }
    let unreadable = |error: csv::Error| {
        let what = format!("{} cannot be read ({error})", log.display());
        Failure::new(FailureKind::Internal, what, "please report this")
    };
    let mut read = csv::Reader::from_path(&log).map_err(unreadable)?;
    let mut rows = Vec::new();
    for row in read.deserialize() {
        let row: Row = row.map_err(unreadable)?;
        // The last row of a program that was killed may be torn.
        let Ok(time) = row.time.parse::<Timestamp>() else {
            continue;
        };
        let at = i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX);
        rows.extend(row.power_watts.map(|watts| (at, watts)));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_power_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(rows(folder.path()).expect("nothing"), []);
        let text = "time,phase,power_watts\n1970-01-01T00:00:01Z,steady,2.5\n1970-01-01T00:00:02Z,steady,\n";
        std::fs::write(folder.path().join(LOG), text).expect("a file");
        assert_eq!(rows(folder.path()).expect("a log"), [(1_000_000_000, 2.5)]);
    }
}
