//! Bytes that sealcast has given for one session.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use moq_net::bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

use crate::pipe::MAX_SESSION_DATA;

/// Bytes of a session that wait until the other end takes some.
pub(super) const MAX_WAITING: usize = 4 << 20;

/// Bytes that wait to be sent, and the end of them.
#[derive(Default)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    filled: Notify,
    ended: Notify,
}

#[derive(Default)]
struct Waiting {
    bytes: BytesMut,
    end: Option<End>,
}

/// Reason why sealcast gives no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It closed the session; what waits is still sent.
    Closed,
    /// It gave more than [`MAX_WAITING`].
    TooMuch,
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => write!(formatter, "sealcast closed it"),
            Self::TooMuch => {
                let limit = MAX_WAITING >> 20;
                write!(
                    formatter,
                    "more than {limit} MiB wait for it: the other end does not take them"
                )
            }
        }
    }
}

impl Outbox {
    /// Adds bytes, unless there is an end.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut waiting = self.lock();
        if waiting.end.is_some() {
            return;
        }
        if waiting.bytes.len() + bytes.len() > MAX_WAITING {
            waiting.bytes.clear();
            waiting.end = Some(End::TooMuch);
            self.ended.notify_one();
            return;
        }
        waiting.bytes.extend_from_slice(bytes);
        self.filled.notify_one();
    }

    /// Ends it; what waits is still there.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        waiting.end = waiting.end.or(Some(End::Closed));
        self.ended.notify_one();
    }

    /// Waits for bytes and takes as many as an object has room for. Several short ones leave together if they wait, and
    /// none of them waits for another. Only one task may wait.
    pub(super) async fn next(&self) -> Bytes {
        until(&self.filled, || {
            let mut waiting = self.lock();
            let length = waiting.bytes.len().min(MAX_SESSION_DATA);
            (length > 0).then(|| waiting.bytes.split_to(length).freeze())
        })
        .await
    }

    /// Waits for the end. Only one task may wait.
    pub(super) async fn ended(&self) -> End {
        until(&self.ended, || self.lock().end).await
    }

    /// Whether all bytes have been taken.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().bytes.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until `there` returns something.
async fn until<T>(changed: &Notify, there: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(found) = there() {
            return found;
        }
        // A change that came since is remembered.
        changed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_leave_in_order_and_in_pieces() {
        let outbox = Outbox::default();
        let bytes: Vec<u8> = (0..150_000_u32).map(|at| (at * 7 + at / 256) as u8).collect();
        for piece in bytes.chunks(999) {
            outbox.push(piece);
        }
        let mut found = Vec::new();
        for length in [MAX_SESSION_DATA, MAX_SESSION_DATA, 150_000 - 2 * MAX_SESSION_DATA] {
            let piece = outbox.next().await;
            assert_eq!(piece.len(), length);
            found.extend_from_slice(&piece);
        }
        assert!(found == bytes && outbox.is_empty());
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let outbox = Outbox::default();
        let (piece, end, ()) = tokio::join!(outbox.next(), outbox.ended(), async {
            tokio::task::yield_now().await;
            outbox.push(b"challenge");
            outbox.close();
        });
        assert_eq!((&piece[..], end), (&b"challenge"[..], End::Closed));
    }

    #[tokio::test]
    async fn what_was_given_before_the_close_is_still_there_and_nothing_after_it() {
        let outbox = Outbox::default();
        outbox.push(b"before");
        outbox.close();
        outbox.push(b"after");
        assert_eq!(outbox.ended().await, End::Closed);
        assert_eq!(&outbox.next().await[..], b"before");
        assert!(outbox.is_empty());
    }

    #[tokio::test]
    async fn more_than_the_bound_ends_it() {
        let outbox = Outbox::default();
        outbox.push(&vec![0; MAX_WAITING]);
        assert!(!outbox.is_empty());
        outbox.push(b"1");
        outbox.close();
        assert_eq!(outbox.ended().await, End::TooMuch);
        assert!(outbox.is_empty());
    }
}
