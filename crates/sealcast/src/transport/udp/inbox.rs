//! Queue of datagrams that the listener's reader has received for one peer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::runs::{Path, Runs};

/// Maximum of queued bytes per peer. If a peer floods us, the excess is dropped.
pub(crate) const INBOX_BYTES: usize = 512 * 1024;
/// Maximum of queued runs of datagrams.
pub(crate) const INBOX_RUNS: usize = 1024;

/// A bounded queue of datagrams. Datagrams are copied once on the way in, and the whole queue is swapped out.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    runs: Runs,
    closed: bool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues datagrams; returns false if there is no room.
    pub(crate) fn put(&self, path: Path, stride: usize, datagrams: &[u8]) -> bool {
        let mut state = self.lock();
        if state.runs.bytes.len() + datagrams.len() > INBOX_BYTES || state.runs.runs.len() == INBOX_RUNS {
            return false;
        }
        state.runs.push(path, stride, datagrams);
        drop(state);
        self.news.notify_one();
        true
    }

    /// Swaps all queued datagrams for the buffers of `empty`; returns true if there are any.
    pub(crate) fn take(&self, empty: &mut Runs) -> bool {
        empty.clear();
        empty.bytes.clear();
        std::mem::swap(&mut self.lock().runs, empty);
        !empty.is_empty()
    }

    /// Marks the queue as closed: nothing more will be queued.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Wait until something may have been queued since the last wait.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> Path {
        Path::to(([127, 0, 0, 1], 9).into())
    }

    #[test]
    fn what_waits_is_taken_in_order_and_buffers_are_used_again() {
        let inbox = Inbox::default();
        let mut runs = Runs::default();
        for round in 0..3_u8 {
            assert!(inbox.put(path(), 4, &[round; 10]) && inbox.put(path(), 7, &[9; 7]));
            assert!(inbox.take(&mut runs));
            let lengths: Vec<usize> = std::iter::from_fn(|| runs.next().map(|(_, datagram)| datagram.len())).collect();
            assert_eq!(lengths, [4, 4, 2, 7]);
            assert!(!inbox.take(&mut runs));
        }
    }

    #[test]
    fn neither_many_bytes_nor_many_datagrams_fill_more_than_the_bound() {
        let inbox = Inbox::default();
        let taken = (0..1000).take_while(|_| inbox.put(path(), 1200, &[0; 12_000])).count();
        assert_eq!(taken, INBOX_BYTES / 12_000);
        assert!(inbox.take(&mut Runs::default()));
        let taken = (0..10_000).take_while(|_| inbox.put(path(), 1200, &[])).count();
        assert_eq!(taken, INBOX_RUNS);
    }
}
