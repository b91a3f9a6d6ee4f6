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

/// The time of a process and of the processes that it started, such as a fenced decoder. Theirs begins with 0 when they
/// start; one that has ended does not count.
pub(crate) fn time_of_family(process: u32) -> Result<Duration> {
    let others = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(std::io::Result::ok);
    let children = others.filter_map(|entry| {
        let other: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        (parent(&stat)? == process).then_some(other)
    });
    // A child may end in the meantime.
    let theirs: Duration = children.filter_map(|child| time_of(child).ok()).sum();
    Ok(time_of(process)? + theirs)
}

/// The parent in a line of `/proc/PID/stat`: the second field after the name, which is in parentheses and may contain
/// anything.
fn parent(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
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
    fn work_of_a_child_counts_for_its_family_alone() {
        // The shell itself only waits.
        let mut shell = Command::new("sh");
        let script = "sh -c 'while :; do :; done' & trap 'kill $!' EXIT; read line";
        let mut shell = shell
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let until = Instant::now() + Duration::from_secs(60);
        let far = |used: Result<Duration>| used.is_ok_and(|used| used > Duration::from_millis(100));
        while !far(time_of_family(shell.id())) && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
        let (family, own) = (time_of_family(shell.id()), time_of(shell.id()));
        drop(shell.stdin.take());
        shell.wait().expect("it was ours");
        let (family, own) = (family.expect("Linux"), own.expect("Linux"));
        assert!(
            family > Duration::from_millis(100) && own < family,
            "{family:?}, {own:?}"
        );
    }

    #[test]
    fn a_parent_is_found_whatever_the_program_is_called() {
        assert_eq!(parent("42 (a) b (c)) S 7 42 42 0 -1"), Some(7));
        assert_eq!(parent("42"), None);
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
