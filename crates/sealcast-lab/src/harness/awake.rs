//! Keeps processors from going to sleep during a measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sealcast::failure::{Failure, FailureKind, Result};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
    thread_schedule_policy,
};

/// While it lives, no processor that this process may use goes to sleep: each runs a spinning thread of policy
/// `SCHED_IDLE`, which gives way to everything else.
pub(crate) struct Awake {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keeps the processors awake from now on.
    ///
    /// # Errors
    /// The system does not report which processors there are, or does not allow a thread to use `SCHED_IDLE`.
    pub(crate) fn keep() -> Result<Self> {
        let ours = sched_getaffinity(None).map_err(|error| refused(&error))?;
        let mut awake = Self {
            over: Arc::default(),
            threads: Vec::new(),
        };
        let (sender, settled) = mpsc::channel();
        for processor in (0..CpuSet::MAX_CPU).filter(|&processor| ours.is_set(processor)) {
            let (over, sender) = (Arc::clone(&awake.over), sender.clone());
            awake.threads.push(thread::spawn(move || {
                let behind = go_behind(processor);
                let goes_round = behind.is_ok();
                // The receiver may be gone because another thread was refused.
                let _ = sender.send(behind);
                drop(sender);
                while goes_round && !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }));
        }
        drop(sender);
        settled.iter().collect::<Result<()>>()?;
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

/// Pins this thread to one processor, with the lowest priority there.
fn go_behind(processor: usize) -> Result<()> {
    let mut alone = CpuSet::new();
    alone.set(processor);
    sched_setaffinity(None, &alone).map_err(|error| refused(&error))?;
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    match set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy) {
        // After the policy it sets the niceness, to 0, which users who are nicer may not; behind others it counts for
        // nothing.
        Err(_) if thread_schedule_policy().is_ok_and(|now| now == policy) => Ok(()),
        set => set.map_err(|error| refused(&error)),
    }
}

fn refused(error: &dyn std::fmt::Display) -> Failure {
    let what = format!("the processors cannot be kept awake ({error})");
    Failure::new(FailureKind::Usage, what, "measure without --awake")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use rustix::process::setpriority_process;
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::*;

    /// Number of `SCHED_IDLE`.
    const BEHIND: &str = "5";

    /// The threads of this process that have policy `SCHED_IDLE`.
    fn behind() -> Vec<PathBuf> {
        let threads = std::fs::read_dir("/proc/self/task").expect("Linux");
        let threads = threads.map(|thread| thread.expect("an entry").path());
        threads
            .filter(|thread| policy(thread).as_deref() == Some(BEHIND))
            .collect()
    }

    /// Field 41 of `/proc/PID/stat`; the second field is a name, in brackets. `None` if the thread has ended.
    fn policy(thread: &std::path::Path) -> Option<String> {
        let stat = std::fs::read_to_string(thread.join("stat")).ok()?;
        let (_, from_third) = stat.rsplit_once(") ")?;
        from_third.split(' ').nth(41 - 3).map(str::to_owned)
    }

    /// Processor time of the thread: the first number of `schedstat`, in nanoseconds.
    fn has_run(thread: &std::path::Path) -> Duration {
        let text = std::fs::read_to_string(thread.join("schedstat")).expect("it has not ended");
        let nanos = text.split(' ').next().and_then(|first| first.parse().ok());
        Duration::from_nanos(nanos.expect("a number"))
    }

    /// Waits up to 20 s: while other programs keep the machine busy, `SCHED_IDLE` threads do not run.
    fn at_last(met: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        while !met() && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        met()
    }

    /// Without the right to lower it again.
    fn become_nice() {
        setpriority_process(None, 19).expect("anybody may be as nice as can be");
        let mut rights = capabilities(None).expect("Linux");
        rights.effective.remove(CapabilitySet::SYS_NICE);
        set_capabilities(None, rights).expect("anybody may give up a right");
    }

    /// One test, since all threads of a process are looked at.
    #[test]
    fn processors_are_busy_until_they_need_no_longer_be() {
        stay_awake();
        let nice = thread::spawn(|| {
            become_nice();
            stay_awake();
        });
        assert!(
            nice.join().is_ok(),
            "a user with a niceness cannot keep processors awake"
        );
    }

    fn stay_awake() {
        let awake = Awake::keep().expect("anybody may go behind others");
        let threads = behind();
        let processors = sched_getaffinity(None).expect("Linux").count() as usize;
        assert_eq!(threads.len(), processors);
        for thread in &threads {
            assert!(at_last(|| has_run(thread) > Duration::from_millis(1)));
        }
        drop(awake);
        assert!(at_last(|| behind().is_empty()));
    }
}
