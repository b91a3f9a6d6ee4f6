//! The processor's clock: cycles that the kernel counts for this thread, or ticks of the time-stamp counter as a
//! fallback.

use std::time::{Duration, Instant};

use perf_event::events::Hardware;
use perf_event::{Builder, Counter, ReadFormat};

/// Counts the cycles of this thread in user mode, from its opening on.
pub(super) struct CoreClock(Option<Counter>);

impl CoreClock {
    /// Counts nothing if the kernel provides no counter, as in most virtual machines.
    pub(super) fn open() -> Self {
        let mut builder = Builder::new(Hardware::CPU_CYCLES);
        builder.read_format(ReadFormat::TOTAL_TIME_RUNNING).enabled(true);
        Self(builder.build().ok())
    }

    /// Cycles per second of this thread since the opening.
    pub(super) fn hz(&mut self) -> Option<f64> {
        let counted = self.0.as_mut()?.read_full().ok()?;
        hz(counted.count(), counted.time_running()?)
    }
}

/// Cycles per second; `None` if nothing was counted.
pub(super) fn hz(cycles: u64, running: Duration) -> Option<f64> {
    (cycles > 0 && !running.is_zero()).then(|| cycles as f64 / running.as_secs_f64())
}

/// Description of the counter in use.
pub(crate) fn describe(tsc_hz: Option<f64>) -> String {
    let mut core = CoreClock::open();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1) {
        std::hint::spin_loop();
    }
    match (core.hz(), tsc_hz) {
        (Some(hz), _) => format!(
            "cycles are the core's own, counted by the kernel for the measuring thread; {:.3} GHz at the beginning",
            hz / 1e9
        ),
        (None, Some(hz)) => format!(
            "cycles are ticks of the time-stamp counter (TSC), {:.3} GHz whatever clock the core runs at: the kernel \
             gives no cycle counter here",
            hz / 1e9
        ),
        (None, None) => {
            "no cycles here: neither a counter from the kernel nor a time-stamp counter that ticks evenly".to_owned()
        }
    }
}

/// Ticks of the processor's time-stamp counter per second; `None` if there is none with a constant rate.
pub(crate) fn tsc_hz() -> Option<f64> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = info.lines().find(|line| line.starts_with("flags"))?;
    let has = |name| flags.split_whitespace().any(|flag| flag == name);
    if !has("constant_tsc") || !has("nonstop_tsc") {
        return None;
    }
    let clock = quanta::Clock::new();
    let (began, first) = (Instant::now(), clock.raw());
    std::thread::sleep(Duration::from_millis(100));
    let (elapsed, last) = (began.elapsed(), clock.raw());
    Some((last - first) as f64 / elapsed.as_secs_f64())
}
