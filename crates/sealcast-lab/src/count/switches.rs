//! Voluntary context switches of a process: how often it slept, as the kernel counts it.

use std::fs;

use sealcast::failure::{Failure, FailureKind, Result};

/// The line of `/proc/PID/task/TID/status`.
const VOLUNTARY: &str = "voluntary_ctxt_switches:";
/// The line with the process that traces it, 0 for none.
const TRACER: &str = "TracerPid:";

/// Voluntary context switches of all living threads of a process so far.
pub(crate) fn voluntary(process: u32) -> Result<u64> {
    Ok(lines(process, VOLUNTARY)?.iter().sum())
}

/// True if all threads of a process are traced.
pub(super) fn all_are_traced(process: u32) -> Result<bool> {
    Ok(lines(process, TRACER)?.iter().all(|&tracer| tracer != 0))
}

/// A number of each thread.
fn lines(process: u32, name: &str) -> Result<Vec<u64>> {
    let folder = format!("/proc/{process}/task");
    let threads = fs::read_dir(&folder).map_err(|error| {
        let what = format!("{folder} does not tell what the process does ({error})");
        Failure::new(FailureKind::Network, what, "see whether the process has ended")
    })?;
    // A thread may have ended in the meantime.
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("status")).ok());
    Ok(texts.filter_map(|text| value(&text, name)).collect())
}

fn value(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voluntary_switches_are_not_the_involuntary_ones() {
        let status = "Name:\tx\nTracerPid:\t7\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(value(status, VOLUNTARY), Some(150));
        assert_eq!(value(status, TRACER), Some(7));
        assert!(voluntary(std::process::id()).is_ok());
        assert!(voluntary(u32::MAX).is_err());
    }
}
