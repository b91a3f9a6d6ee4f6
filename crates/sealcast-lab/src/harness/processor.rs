//! Processor time of other processes, as the kernel's scheduler counts it.

use std::fs;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

/// User and system time that the living threads of a process have used, with a resolution of nanoseconds.
/// `/proc/PID/stat` counts in hundredths of a second, in which many packets pass.
pub(crate) fn time_of(process: u32) -> Result<Duration> {
    let folder = format!("/proc/{process}/task");
    let gone = |error: &dyn std::fmt::Display| {
        let what = format!("{folder} does not tell processor time ({error})");
        Failure::new(
            FailureKind::Network,
            what,
            "see whether the process has ended, or the kernel lacks schedstat",
        )
    };
    let mut all = Duration::ZERO;
    for thread in fs::read_dir(&folder).map_err(|error| gone(&error))? {
        let file = thread.map_err(|error| gone(&error))?.path().join("schedstat");
        // The thread may have ended in the meantime.
        let Ok(text) = fs::read_to_string(file) else { continue };
        all += on_processor(&text).ok_or_else(|| gone(&text.trim()))?;
    }
    if all.is_zero() {
        return Err(gone(&"no thread has run"));
    }
    Ok(all)
}

/// The same of a process and of those that it started and that still run.
pub(crate) fn time_of_family(process: u32) -> Result<Duration> {
    let mut all = time_of(process)?;
    for child in children(process) {
        // It may have ended in the meantime.
        all += time_of(child).unwrap_or_default();
    }
    Ok(all)
}

fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let ids = |list: String| -> Vec<u32> { list.split(' ').filter_map(|id| id.trim().parse().ok()).collect() };
    lists.flat_map(ids).collect()
}

/// The same of one thread of this process, by its kernel id.
pub(crate) fn time_of_thread(thread: i32) -> Result<Duration> {
    let file = format!("/proc/self/task/{thread}/schedstat");
    let text = fs::read_to_string(&file).ok();
    text.as_deref().and_then(on_processor).ok_or_else(|| {
        let what = format!("{file} does not tell processor time");
        Failure::new(FailureKind::Internal, what, "see whether the kernel has schedstat")
    })
}

/// The sum over several processes.
pub(crate) fn time_of_all(processes: &[u32]) -> Result<Duration> {
    processes.iter().map(|&process| time_of(process)).sum()
}

/// Processor time: the first of the three numbers of `schedstat`.
fn on_processor(schedstat: &str) -> Option<Duration> {
    let nanos = schedstat.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread::sleep;
    use std::time::Instant;

    use super::*;

    #[test]
    fn work_of_a_process_counts() {
        let mut busy = Command::new("sh");
        let mut busy = busy.args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        let enough = || time_of(busy.id()).is_ok_and(|used| used > Duration::from_millis(30));
        let until = Instant::now() + Duration::from_secs(20);
        while !enough() && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
        let used = time_of(busy.id());
        busy.kill().expect("it runs");
        busy.wait().expect("it was ours");
        let used = used.expect("Linux");
        assert!(
            (Duration::from_millis(30)..Duration::from_secs(20)).contains(&used),
            "{used:?}"
        );
    }

    #[test]
    fn a_process_that_is_gone_is_named() {
        let failure = time_of(u32::MAX).expect_err("no such process");
        assert!(failure.what.contains(&u32::MAX.to_string()), "{failure}");
        assert_eq!(
            on_processor("126050626 675279512 59\n"),
            Some(Duration::from_nanos(126_050_626))
        );
        assert_eq!(on_processor(""), None);
    }
}
