//! A timer that is moved as seldom as can be.

use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

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
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Wait until `deadline`, or an earlier one that was waited for before; for ever where there is none. Cancel-safe.
    pub(super) async fn rings(&mut self, deadline: Option<Instant>) {
        let Some(deadline) = deadline.map(tokio::time::Instant::from) else {
            return std::future::pending().await;
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.is_elapsed() || deadline < sleep.deadline() {
            sleep.as_mut().reset(deadline);
        } else {
            // A timer that moves away is not even taken out.
            let later = deadline.min(tokio::time::Instant::now() + LINGER);
            if later >= sleep.deadline() + WORTHWHILE {
                sleep.as_mut().reset(later);
            }
        }
        sleep.as_mut().await;
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
            () = alarm.rings(Some(deadline)) => unreachable!("it is not time"),
            () = std::future::ready(()) => {}
        }
    }

    #[tokio::test]
    async fn it_never_rings_late_and_early_only_as_it_was_waited_for_before() {
        let (mut alarm, far) = (Alarm::default(), Instant::now() + 60_000 * MS);
        glance(&mut alarm, far).await;
        let soon = Instant::now() + 20 * MS;
        alarm.rings(Some(soon)).await;
        assert!((soon..far).contains(&Instant::now()), "it was brought forward");
        let before = Instant::now() + 100 * MS;
        glance(&mut alarm, before).await;
        alarm.rings(Some(far)).await;
        assert!((before..far).contains(&Instant::now()), "it was not put off");
        let due = Instant::now() + 20 * MS;
        alarm.rings(Some(due)).await;
        assert!(Instant::now() >= due, "it has rung, and is set anew");
        let never = tokio::time::timeout(20 * MS, alarm.rings(None)).await;
        assert!(never.is_err(), "there is nothing to wait for");
    }
}
