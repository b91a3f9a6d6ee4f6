//! Pings, and when a peer counts as lost.

use std::time::Duration;

use super::{PEER_TIMEOUT, PING_INTERVAL};

#[derive(Clone, Copy)]
pub(super) struct Liveness {
    heard: Duration,
    next_ping: Duration,
}

impl Liveness {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            heard: now,
            next_ping: now,
        }
    }

    /// A valid record came.
    pub(super) fn heard(&mut self, now: Duration) {
        self.heard = now;
    }

    pub(super) fn lost(&self, now: Duration) -> bool {
        now.saturating_sub(self.heard) >= PEER_TIMEOUT
    }

    /// Whether a ping is due; if so the next one is planned.
    pub(super) fn take_ping(&mut self, now: Duration) -> bool {
        let due = now >= self.next_ping;
        if due {
            self.next_ping = now + PING_INTERVAL;
        }
        due
    }

    pub(super) fn deadline(&self) -> Duration {
        self.next_ping.min(self.heard + PEER_TIMEOUT)
    }
}
