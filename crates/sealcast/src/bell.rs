//! A bell that one task waits for.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::task::AtomicWaker;

/// Tells one task that something came. A task that waits anew for every packet keeps its place here, where it would
/// line up and leave again at a notifier for many.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicBool,
    task: AtomicWaker,
}

impl Bell {
    /// Wake the task that waits, or have the next wait end at once.
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }

    /// Wait until it rang since the last wait. Cancel-safe. Of two tasks that wait the newer one is woken.
    pub(crate) async fn rings(&self) {
        poll_fn(|context| {
            if self.rung.swap(false, Ordering::AcqRel) {
                return Poll::Ready(());
            }
            self.task.register(context.waker());
            // It may have rung before we stood there.
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
