//! A timer that is re-armed as seldom as possible.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_util::future::Either;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Sleep, sleep_until};

use super::seldom::Seldom;
use crate::watch::watch_for;

/// Do not postpone the timer by less than this: re-arming it costs more than one spurious wake-up.
const WORTHWHILE: Duration = Duration::from_millis(20);
/// Round waits up to a multiple of this, so that deadlines close to each other share one wake-up.
const GRAIN: Duration = Duration::from_millis(1);

/// A timer that never fires late but may fire early; the caller checks the time. Most deadlines are postponed with
/// each packet, and this timer makes that free.
#[derive(Default)]
pub(super) struct Alarm {
    often: bool,
    timer: Option<Seldom<Timer>>,
    /// Expiry time of the armed timer.
    set: Option<Instant>,
}

/// A timer of the runtime or of the kernel.
type Timer = Either<Sleep, KernelTimer>;

impl Alarm {
    /// Optimise for a deadline that is set and cancelled with every picture. With a runtime timer for a deadline less
    /// than 64 ms away, the runtime wakes every 64 ms, and once more at the old time of a postponed
    /// deadline. That is expensive for a program whose code has left the processor's caches. From now on a kernel
    /// timer is used instead, if a file descriptor is available.
    pub(super) fn set_often(&mut self) {
        if !self.often {
            *self = Self {
                often: true,
                ..Self::default()
            };
        }
    }

    /// Wait until `deadline` or an earlier deadline of a previous call; forever if there is none. Cancel-safe.
    pub(super) async fn rings(&mut self, deadline: Option<Instant>) {
        let Some(deadline) = deadline else {
            return std::future::pending().await;
        };
        // A timer whose deadline was postponed mostly stays as it is.
        if self
            .set
            .is_none_or(|set| deadline < set || deadline >= set + WORTHWHILE)
        {
            let now = Instant::now();
            if deadline <= now {
                return;
            }
            self.set(deadline, now);
        }
        if let Some(timer) = &mut self.timer {
            timer.await;
        }
        self.set = None;
    }

    fn set(&mut self, deadline: Instant, now: Instant) {
        self.set = Some(deadline);
        let moved = self
            .timer
            .as_mut()
            .is_some_and(|timer| match timer.change().as_pin_mut() {
                Either::Left(sleep) => {
                    sleep.reset(deadline.into());
                    true
                }
                Either::Right(timer) => timer.reset(deadline - now).is_ok(),
            });
        if !moved {
            let often = self.timer.is_none() && self.often;
            let kernels = often.then(|| KernelTimer::new(deadline - now)).and_then(Result::ok);
            let runtimes = || Either::Left(sleep_until(deadline.into()));
            self.timer = Some(Seldom::new(kernels.map_or_else(runtimes, Either::Right)));
        }
    }
}

/// A timer of the kernel (timerfd).
struct KernelTimer(AsyncFd<OwnedFd>);

impl KernelTimer {
    fn new(wait: Duration) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let timer = Self(watch_for(timer, Interest::READABLE)?);
        timer.reset(wait)?;
        Ok(timer)
    }

    /// Re-arm the timer. This also clears an expiry that was not yet read.
    fn reset(&self, wait: Duration) -> io::Result<()> {
        // A wait of zero would disarm the timer.
        let grains = wait.as_nanos().div_ceil(GRAIN.as_nanos()).max(1);
        let wait = GRAIN.saturating_mul(u32::try_from(grains).unwrap_or(u32::MAX));
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: wait.try_into().map_err(io::Error::other)?,
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

impl Future for KernelTimer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match ready!(self.0.poll_read_ready(context)) {
            Ok(mut guard) => guard.clear_ready(),
            // The runtime is shutting down.
            Err(_) => return Poll::Pending,
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Poll the alarm once, then cancel the wait.
    async fn glance(alarm: &mut Alarm, deadline: Instant) {
        tokio::select! {
            biased;
            () = alarm.rings(Some(deadline)) => unreachable!("it is not time"),
            () = std::future::ready(()) => {}
        }
    }

    /// Never late, and early only because of an earlier deadline.
    async fn rings_in_time(mut alarm: Alarm) {
        let far = Instant::now() + 60_000 * MS;
        glance(&mut alarm, far).await;
        let soon = Instant::now() + 20 * MS;
        alarm.rings(Some(soon)).await;
        assert!((soon..far).contains(&Instant::now()), "it was brought forward");
        let before = Instant::now() + 100 * MS;
        glance(&mut alarm, before).await;
        alarm.rings(Some(before + WORTHWHILE / 2)).await;
        assert!((before..far).contains(&Instant::now()), "it stayed where it was");
        let first = Instant::now() + 40 * MS;
        glance(&mut alarm, first).await;
        let later = first + 200 * MS;
        glance(&mut alarm, later).await;
        alarm.rings(Some(later)).await;
        assert!((first..far).contains(&Instant::now()), "it was put off");
        let due = Instant::now() + 20 * MS;
        alarm.rings(Some(due)).await;
        assert!(Instant::now() >= due, "it has rung, and is set anew");
        alarm.rings(Some(Instant::now() - MS)).await;
        let never = tokio::time::timeout(20 * MS, alarm.rings(None)).await;
        assert!(never.is_err(), "there is nothing to wait for");
    }

    #[tokio::test]
    async fn it_never_rings_late_and_early_only_as_it_was_waited_for_before() {
        rings_in_time(Alarm::default()).await;
        let mut often = Alarm::default();
        often.set_often();
        rings_in_time(often).await;
    }

    #[tokio::test]
    async fn a_timer_of_the_kernels_that_is_put_off_does_not_ring_in_between() {
        let began = Instant::now();
        let timer = KernelTimer::new(30 * MS).expect("a timer");
        timer.reset(150 * MS).expect("set");
        timer.await;
        assert!(began.elapsed() >= 150 * MS, "{:?}", began.elapsed());
    }
}
