//! Pings, and when a peer counts as lost.

use std::time::Duration;

use super::{PART_TIMEOUT, PEER_TIMEOUT, PING_INTERVAL};

#[derive(Clone, Copy)]
pub(super) struct Liveness {
    /// When the last valid record came.
    valid: Duration,
    /// When bytes last came, of whatever worth.
    bytes: Duration,
    next_ping: Duration,
}

impl Liveness {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            valid: now,
            bytes: now,
            next_ping: now,
        }
    }

    /// A valid record came.
    pub(super) fn heard(&mut self, now: Duration) {
        self.valid = now;
        self.bytes = now;
    }

    /// A part of a record came. It proves nothing, so it counts only for so long.
    pub(super) fn part_came(&mut self, now: Duration) {
        self.bytes = now;
    }

    pub(super) fn lost(&self, now: Duration) -> bool {
        now >= self.lost_at()
    }

    fn lost_at(&self) -> Duration {
        (self.bytes + PEER_TIMEOUT).min(self.valid + PART_TIMEOUT)
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
        self.next_ping.min(self.lost_at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_long_record_on_a_slow_link_is_waited_for() {
        let mut liveness = Liveness::new(S);
        for second in 2..=10 {
            liveness.part_came(S * second);
        }
        assert!(!liveness.lost(S * 10));
        liveness.heard(S * 10);
        assert!(!liveness.lost(S * 11) && liveness.lost(S * 12));
    }

    #[test]
    fn bytes_that_never_become_a_record_do_not_keep_a_peer_alive() {
        let mut liveness = Liveness::new(S);
        for second in 1..=12 {
            liveness.part_came(S * second);
        }
        assert!(liveness.lost(S * 12));
    }
}
