//! A wake-up signal for a single task.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::task::AtomicWaker;

/// Wakes one task. It is cheaper than a notifier for many tasks for a task that waits again after every packet: the
/// task's waker stays registered, where a notifier would add it to a list and remove it each time.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicBool,
    task: AtomicWaker,
}

impl Bell {
    /// Wake the waiting task, or let the next wait return at once.
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }

    /// Wait for a ring since the last wait. Cancel-safe. If two tasks wait, only the one that registered last is
    /// woken.
    pub(crate) async fn rings(&self) {
        poll_fn(|context| {
            if self.rung.swap(false, Ordering::AcqRel) {
                return Poll::Ready(());
            }
            self.task.register(context.waker());
            // Check again: it may have rung before the waker was registered.
            if self.rung.swap(false, Ordering::AcqRel) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[tokio::test]
    async fn it_is_heard_once_however_often_it_rang_before() {
        let bell = Bell::default();
        bell.ring();
        bell.ring();
        bell.rings().await;
        tokio::select! {
            biased;
            () = bell.rings() => unreachable!("it did not ring again"),
            () = std::future::ready(()) => {}
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_ring_is_missed_by_who_looks_after_each() {
        let (bell, made) = (Arc::new(Bell::default()), Arc::new(AtomicU32::new(0)));
        let ringing = tokio::spawn({
            let (bell, made) = (Arc::clone(&bell), Arc::clone(&made));
            async move {
                for _ in 0..10_000 {
                    made.fetch_add(1, Ordering::Relaxed);
                    bell.ring();
                    tokio::task::yield_now().await;
                }
            }
        });
        while made.load(Ordering::Relaxed) < 10_000 {
            bell.rings().await;
        }
        ringing.await.expect("it rings to the end");
    }
}
