//! Futures that rarely wake, in tasks that wake for every packet.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// A future that is polled only after its own wake-up. A task that waits for several futures polls all of them on
/// every wake-up; without this, a rare event would cost as much as one that comes with every packet.
pub(super) struct Seldom<F> {
    future: Pin<Box<F>>,
    flag: Arc<Flag>,
}

struct Flag {
    woken: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<F> Seldom<F> {
    pub(super) fn new(future: F) -> Self {
        let flag = Flag {
            woken: AtomicBool::new(true),
            task: AtomicWaker::new(),
        };
        Self {
            future: Box::pin(future),
            flag: Arc::new(flag),
        }
    }

    /// Access to the inner future, to change it. It is polled again afterwards.
    pub(super) fn change(&mut self) -> Pin<&mut F> {
        self.flag.woken.store(true, Ordering::Release);
        self.future.as_mut()
    }
}

impl<F: Future> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Register the waker before checking the flag, so that no wake-up is missed.
        self.flag.task.register(context.waker());
        if !self.flag.woken.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&self.flag));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn it_is_polled_once_and_then_only_when_it_wakes() {
        let (sender, mut receiver) = oneshot::channel();
        let mut polled = 0;
        let counted = poll_fn(|context| {
            polled += 1;
            Pin::new(&mut receiver).poll(context)
        });
        let mut seldom = Seldom::new(counted);
        for _ in 0..10 {
            tokio::select! {
                biased;
                _ = &mut seldom => unreachable!("nothing was sent"),
                () = std::future::ready(()) => {}
            }
        }
        let sending = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            sender.send(7)
        });
        assert_eq!((&mut seldom).await, Ok(7));
        assert_eq!(sending.await.expect("it sends"), Ok(()));
        drop(seldom);
        assert_eq!(polled, 2);
    }

    #[tokio::test]
    async fn what_it_waits_for_may_be_another_and_its_task_as_well() {
        let (first, receiver) = oneshot::channel::<u8>();
        let mut seldom = Seldom::new(receiver);
        tokio::select! {
            biased;
            _ = &mut seldom => unreachable!("nothing was sent"),
            () = std::future::ready(()) => {}
        }
        let (second, receiver) = oneshot::channel();
        *seldom.change() = receiver;
        assert!(first.send(1).is_err(), "nobody waits for it");
        let waiting = tokio::spawn(seldom);
        tokio::task::yield_now().await;
        second.send(2).expect("it is waited for");
        assert_eq!(waiting.await.expect("no panic"), Ok(2));
    }
}
