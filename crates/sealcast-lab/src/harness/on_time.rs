//! Doing something when it is due.

use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

use crate::net::SPIN;

/// Threads that send and receive go before what is measured, which else would be measured by late clocks.
const PRIORITY: i32 = -20;

/// To the microsecond, and before others, as far as the system lets this thread. The kernel may wake a thread 50
/// microseconds late to save energy, unless it is told otherwise.
pub(crate) fn go_first() {
    let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
}

/// Waits until `due` after `epoch`: asleep, and if `precise` watching the clock for the last 60 µs.
pub(crate) fn wait(epoch: Instant, due: Duration, precise: bool) {
    let spin = if precise { SPIN } else { Duration::ZERO };
    let left = due.saturating_sub(epoch.elapsed()).saturating_sub(spin);
    if !left.is_zero() {
        thread::sleep(left);
    }
    while precise && epoch.elapsed() < due {
        std::hint::spin_loop();
    }
}
