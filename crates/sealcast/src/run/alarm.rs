//! A timer that is moved as seldom as can be.

use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

use super::seldom::Seldom;

/// An alarm that is put off is put off so far at most: with the next packet it may be wanted earlier again, and that
/// costs more than ringing once in vain.
const LINGER: Duration = Duration::from_millis(60);
/// It is not put off for less than this.
const WORTHWHILE: Duration = Duration::from_millis(20);

/// Rings when it should, and now and then before: who waits looks what time it is. Most deadlines move away with each
/// packet, and that costs nothing here; a timer of the runtime's would be taken out and put in again, and one that is
/// put in may wake the runtime with a system call.
#[derive(Default)]
pub(super) struct Alarm {
    sleep: Option<Seldom<Sleep>>,
}

impl Alarm {
    /// Wait until `deadline`, or an earlier one that was waited for before; for ever where there is none. `now` may be
    /// a little while ago. Cancel-safe.
    pub(super) async fn rings(&mut self, deadline: Option<Instant>, now: impl FnOnce() -> Instant) {
        let Some(deadline) = deadline.map(tokio::time::Instant::from) else {
            return std::future::pending().await;
        };
        let sleep = self.sleep.get_or_insert_with(|| Seldom::new(sleep_until(deadline)));
        let before = sleep.get().deadline();
        if deadline < before || sleep.get().is_elapsed() {
            sleep.change().reset(deadline);
        } else {
            // A timer that moves away is not even taken out.
            let later = deadline.min(tokio::time::Instant::from(now()) + LINGER);
            if later >= before + WORTHWHILE {
                sleep.change().reset(later);
            }
        }
        sleep.await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Wait for a moment, and go away.
    async fn glance(alarm: &mut Alarm, deadline: Instant) {
        tokio::select! {
            biased;
            () = alarm.rings(Some(deadline), Instant::now) => unreachable!("it is not time"),
            () = std::future::ready(()) => {}
        }
    }

    #[tokio::test]
    async fn it_never_rings_late_and_early_only_as_it_was_waited_for_before() {
        let (mut alarm, far) = (Alarm::default(), Instant::now() + 60_000 * MS);
        glance(&mut alarm, far).await;
        let soon = Instant::now() + 20 * MS;
        alarm.rings(Some(soon), Instant::now).await;
        assert!((soon..far).contains(&Instant::now()), "it was brought forward");
        let before = Instant::now() + 100 * MS;
        glance(&mut alarm, before).await;
        alarm.rings(Some(far), Instant::now).await;
        assert!((before..far).contains(&Instant::now()), "it was not put off");
        let due = Instant::now() + 20 * MS;
        alarm.rings(Some(due), Instant::now).await;
        assert!(Instant::now() >= due, "it has rung, and is set anew");
        let never = tokio::time::timeout(20 * MS, alarm.rings(None, Instant::now)).await;
        assert!(never.is_err(), "there is nothing to wait for");
    }
}
