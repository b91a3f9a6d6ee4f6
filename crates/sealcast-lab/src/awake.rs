//! Processors that do not go to sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sealcast::failure::{Failure, FailureKind, Result};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// While it lives, each processor that this process may use goes round and round where nothing else wants it: a thread
/// of the policy `SCHED_IDLE` for each, before which everything else goes.
pub(crate) struct Awake {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keep the processors awake from now on.
    ///
    /// # Errors
    /// The system does not tell which they are, or does not let a thread go behind all others.
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
                // Who asked may have gone because another was refused.
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
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

/// This thread stays on one processor, and runs there when nothing else does.
fn go_behind(processor: usize) -> Result<()> {
    let mut alone = CpuSet::new();
    alone.set(processor);
    sched_setaffinity(None, &alone).map_err(|error| refused(&error))?;
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let behind = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
    behind.map_err(|error| refused(&error))
}

fn refused(error: &dyn std::fmt::Display) -> Failure {
    let what = format!("the processors cannot be kept awake ({error})");
    Failure::new(FailureKind::Usage, what, "measure without --awake")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::processor::time_of;

    #[test]
    fn processors_are_busy_until_they_need_no_longer_be() {
        let used = || time_of(std::process::id()).expect("Linux");
        let awake = Awake::keep().expect("anybody may go behind others");
        let policies = std::fs::read_dir("/proc/self/task").expect("Linux").map(|thread| {
            let stat = std::fs::read_to_string(thread.expect("an entry").path().join("stat")).unwrap_or_default();
            let after_name = stat.rsplit(") ").next().unwrap_or_default();
            after_name.split(' ').nth(38).unwrap_or_default().to_owned()
        });
        let processors = thread::available_parallelism().expect("Linux").get();
        let behind = policies.filter(|policy| policy == "5").count();
        assert_eq!(
            behind, processors,
            "threads of the policy SCHED_IDLE, which is number 5"
        );
        let (before, began) = (used(), Instant::now());
        // The machine may be so busy that nothing is left for a thread behind all others.
        while used() - before < Duration::from_millis(5) && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(used() - before >= Duration::from_millis(5));
        let threads = awake.threads.len();
        drop(awake);
        assert_eq!(threads, processors);
    }
}
