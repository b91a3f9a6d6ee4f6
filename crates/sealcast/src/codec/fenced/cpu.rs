//! Processor time of the decoders' processes: it belongs to what this program costs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::time::ClockId;
use nix::unistd::Pid;

/// The processes that run, with the time that each was last known to have used, and the time of those that ended.
struct Used {
    running: Vec<(u32, Duration)>,
    ended: Duration,
}

static USED: Mutex<Used> = Mutex::new(Used {
    running: Vec::new(),
    ended: Duration::ZERO,
});

fn used() -> MutexGuard<'static, Used> {
    // Each statement leaves the state consistent.
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn began(process: u32) {
    used().running.push((process, Duration::ZERO));
}

/// To be called before the process is waited for: then another one may get its number.
pub(super) fn ends(process: u32) {
    let mut used = used();
    if let Some(at) = used.running.iter().position(|(running, _)| *running == process) {
        let (_, before) = used.running.swap_remove(at);
        used.ended += clock(process).unwrap_or(before).max(before);
    }
}

/// Processor time that the processes of all decoders of this program have used so far.
pub fn decoders_cpu_time() -> Duration {
    let mut used = used();
    let mut sum = used.ended;
    for (process, before) in &mut used.running {
        *before = clock(*process).unwrap_or(*before).max(*before);
        sum += *before;
    }
    sum
}

/// `None` once the process has ended.
fn clock(process: u32) -> Option<Duration> {
    let process = Pid::from_raw(i32::try_from(process).ok()?);
    Some(ClockId::pid_cpu_clock_id(process).ok()?.now().ok()?.into())
}
