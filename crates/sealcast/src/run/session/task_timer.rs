//! A timer that a task keeps.

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

/// Time within which a deadline that has moved away would wake the task for nothing, so often that it is moved.
/// Deadlines of a pace, of repair and of reports follow one another so soon; others are seconds away, and move with
/// each message.
const SOON: Duration = Duration::from_millis(100);

/// The timer of one task, which waits for one deadline after another.
///
/// A timer made anew for each wait is put into the runtime's wheel and taken out again each time, both under a lock.
/// This one stays where it is while deadlines only move away: it comes too early then, and is set to the deadline of
/// that moment. It is moved at once if the deadline is earlier, or if it would come [`SOON`] for nothing.
#[derive(Default)]
pub(crate) struct TaskTimer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl TaskTimer {
    /// Wait until `deadline`; forever if there is none. Cancel-safe.
    pub(crate) async fn until(&mut self, deadline: Option<Instant>) {
        let Some(deadline) = deadline.map(tokio::time::Instant::from) else {
            return pending().await;
        };
        let sleep = &mut self.sleep;
        poll_fn(|context| {
            let sleep = sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            let set = sleep.deadline();
            if deadline < set {
                sleep.as_mut().reset(deadline);
            } else if deadline > set && set < tokio::time::Instant::now() + SOON {
                // To reset it to a later deadline would leave it where it is in the wheel.
                sleep.set(sleep_until(deadline));
            }
            while sleep.as_mut().poll(context).is_ready() {
                if tokio::time::Instant::now() >= deadline {
                    return Poll::Ready(());
                }
                sleep.as_mut().reset(deadline);
            }
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn it_waits_for_each_deadline_whether_earlier_or_later_than_the_one_before() {
        let began = Instant::now();
        let (mut timer, far) = (TaskTimer::default(), Duration::from_hours(1));
        for after in [
            Duration::ZERO,
            far,
            Duration::from_millis(20),
            Duration::from_millis(40),
            far,
            Duration::ZERO,
        ] {
            let deadline = began + after;
            let wait = timer.until(Some(deadline));
            if after == far {
                assert!(wait.now_or_never().is_none());
            } else {
                wait.await;
                assert!(Instant::now() >= deadline, "{after:?}");
            }
        }
        assert!(timer.until(None).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_deadline_that_moves_away_while_it_waits_is_waited_for() {
        let began = Instant::now();
        let mut timer = TaskTimer::default();
        assert!(
            timer
                .until(Some(began + Duration::from_millis(10)))
                .now_or_never()
                .is_none()
        );
        let later = began + Duration::from_millis(60);
        timer.until(Some(later)).await;
        assert!(Instant::now() >= later);
    }

    #[tokio::test]
    async fn a_deadline_that_has_moved_away_does_not_wake_its_task_soon() {
        let began = Instant::now();
        let mut timer = TaskTimer::default();
        let first = timer.until(Some(began + Duration::from_millis(10)));
        assert!(first.now_or_never().is_none());
        let mut wait = std::pin::pin!(timer.until(Some(began + Duration::from_millis(60))));
        let mut polls = 0;
        poll_fn(|context| {
            polls += 1;
            wait.as_mut().poll(context)
        })
        .await;
        assert_eq!(polls, 2, "when it begins to wait, and at the deadline");
    }
}
