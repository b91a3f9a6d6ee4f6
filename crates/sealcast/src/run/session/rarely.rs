//! Events that happen rarely, waited for beside frames and packets that come all the time.

use std::future::Future;

use futures_util::stream::{self, BoxStream, SelectAll, Stream, StreamExt as _};
use tokio::sync::watch;

/// Sources of rare events. A source is looked at once it has something, and not at each turn of the task that waits for
/// it: that would take two locks for each source and packet.
pub(crate) struct Rarely<K> {
    sources: SelectAll<BoxStream<'static, K>>,
}

impl<K: Send + 'static> Rarely<K> {
    /// No sources.
    pub(crate) fn new() -> Self {
        let sources = SelectAll::new();
        Self { sources }
    }

    /// With a source: each change of a value that `changes` has not seen is an event.
    pub(crate) fn changes<T>(mut self, changes: watch::Receiver<T>, event: fn() -> K) -> Self
    where
        T: Send + Sync + 'static,
    {
        // It ends when nobody can change the value any more.
        let next = move |mut changes: watch::Receiver<T>| async move {
            let changed = changes.changed().await;
            changed.ok().map(|()| (event(), changes))
        };
        self.sources.push(stream::unfold(changes, next).boxed());
        self
    }

    /// Waits for an event that happens once, too.
    pub(crate) fn once(&mut self, event: impl Future<Output = K> + Send + 'static) {
        self.sources.push(stream::once(event).boxed());
    }

    /// Waits for the events of this stream, too.
    pub(crate) fn each(&mut self, events: impl Stream<Item = K> + Send + 'static) {
        self.sources.push(events.boxed());
    }

    /// The next event of any source. Cancel-safe.
    pub(crate) async fn next(&mut self) -> K {
        match self.sources.next().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    /// The event that is there now, if there is one.
    async fn now(rarely: &mut Rarely<&'static str>) -> Option<&'static str> {
        tokio::select! {
            biased;
            event = rarely.next() => Some(event),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn each_source_is_heard_and_changes_that_were_seen_are_no_events() {
        let (first, second) = (watch::Sender::new(0), watch::Sender::new(0));
        let mut rarely = Rarely::new()
            .changes(first.subscribe(), || "first")
            .changes(second.subscribe(), || "second");
        let (done, waiting) = oneshot::channel::<()>();
        rarely.once(async {
            let _ = waiting.await;
            "once"
        });
        assert_eq!(now(&mut rarely).await, None);
        for _ in 0..3 {
            second.send_replace(1);
            assert_eq!(rarely.next().await, "second");
            assert_eq!(now(&mut rarely).await, None);
        }
        first.send_replace(1);
        done.send(()).expect("it is waited for");
        let mut both = [rarely.next().await, rarely.next().await];
        both.sort_unstable();
        assert_eq!(both, ["first", "once"]);
        // A source whose value can change no more ends nothing.
        drop(first);
        assert_eq!(now(&mut rarely).await, None);
        second.send_replace(2);
        assert_eq!(rarely.next().await, "second");
    }

    #[tokio::test]
    async fn a_change_before_the_first_wait_is_an_event() {
        let sender = watch::Sender::new(0);
        let mut rarely = Rarely::new().changes(sender.subscribe(), || "changed");
        sender.send_replace(1);
        assert_eq!(now(&mut rarely).await, Some("changed"));
    }

    #[tokio::test]
    async fn a_source_that_has_nothing_is_not_looked_at_again() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let mut rarely = Rarely::new();
        rarely.once(std::future::poll_fn(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::task::Poll::<&str>::Pending
        }));
        for _ in 0..10 {
            assert_eq!(now(&mut rarely).await, None);
        }
        assert_eq!(looks.load(Ordering::Relaxed), 1);
    }
}
