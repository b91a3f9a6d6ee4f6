//! Waiting for a due time, precisely.

use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

/// Spin instead of sleeping if a packet is due within this time, since the kernel wakes a sleeper some tens of
/// microseconds late.
pub(crate) const SPIN: Duration = Duration::from_micros(60);

/// Priority of threads that send and receive. It is above that of the measured program; otherwise late wake-ups of
/// these threads would count as its delay.
const PRIORITY: i32 = -20;

/// Sets a timer slack of almost nothing and a high priority for this thread, as far as the system allows. By default
/// the kernel may wake a thread 50 µs late to save energy.
pub(crate) fn raise_priority() {
    let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
}

/// Waits until `due` after `epoch`: asleep, and if `precise` spinning for the last 60 µs.
pub(crate) fn wait_until(epoch: Instant, due: Duration, precise: bool) {
    let spin = if precise { SPIN } else { Duration::ZERO };
    let left = due.saturating_sub(epoch.elapsed()).saturating_sub(spin);
    if !left.is_zero() {
        thread::sleep(left);
    }
    while precise && epoch.elapsed() < due {
        std::hint::spin_loop();
    }
}
