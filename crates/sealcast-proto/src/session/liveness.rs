//! Pings, and the detection of lost peers.

use std::time::Duration;

use super::{PART_TIMEOUT, PEER_TIMEOUT, PING_INTERVAL, STALL_TIMEOUT};

#[derive(Clone, Copy)]
pub(super) struct Liveness {
    /// Time at which the last valid record arrived.
    valid: Duration,
    /// Time at which bytes last arrived, valid or not.
    bytes: Duration,
    next_ping: Duration,
    /// True on datagrams, where a silent peer is stalled before it is lost.
    stalls: bool,
    stalled: bool,
}

/// Consequence of a peer's silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    Stalled,
    Lost,
}

impl Liveness {
    pub(super) fn new(now: Duration, stalls: bool) -> Self {
        Self {
            valid: now,
            bytes: now,
            next_ping: now,
            stalls,
            stalled: false,
        }
    }

    /// A valid record arrived. Returns true if the peer was stalled.
    pub(super) fn heard(&mut self, now: Duration) -> bool {
        self.valid = now;
        self.bytes = now;
        std::mem::take(&mut self.stalled)
    }

    pub(super) fn stalls(&self) -> bool {
        self.stalls
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// Part of a record arrived. It proves nothing, so it extends the deadline only up to a limit.
    pub(super) fn part_came(&mut self, now: Duration) {
        self.bytes = now;
    }

    /// Consequence of the silence until `now`; a stall is returned once.
    pub(super) fn silence(&mut self, now: Duration) -> Option<Silence> {
        if now < self.silent_at() {
            return None;
        }
        if !self.stalls || self.stalled {
            return Some(Silence::Lost);
        }
        self.stalled = true;
        Some(Silence::Stalled)
    }

    /// Time at which continued silence has its next consequence.
    fn silent_at(&self) -> Duration {
        if self.stalled {
            return self.valid + STALL_TIMEOUT;
        }
        (self.bytes + PEER_TIMEOUT).min(self.valid + PART_TIMEOUT)
    }

    /// True if a ping is due; the next one is scheduled then.
    pub(super) fn take_ping(&mut self, now: Duration) -> bool {
        let due = now >= self.next_ping;
        if due {
            self.next_ping = now + PING_INTERVAL;
        }
        due
    }

    pub(super) fn deadline(&self) -> Duration {
        self.next_ping.min(self.silent_at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_long_record_on_a_slow_link_is_waited_for() {
        let mut liveness = Liveness::new(S, false);
        for second in 2..=10 {
            liveness.part_came(S * second);
        }
        assert_eq!(liveness.silence(S * 10), None);
        liveness.heard(S * 10);
        assert_eq!(
            (liveness.silence(S * 11), liveness.silence(S * 12)),
            (None, Some(Silence::Lost))
        );
    }

    #[test]
    fn bytes_that_never_become_a_record_do_not_keep_a_peer_alive() {
        let mut liveness = Liveness::new(S, false);
        for second in 1..=12 {
            liveness.part_came(S * second);
        }
        assert_eq!(liveness.silence(S * 12), Some(Silence::Lost));
    }

    #[test]
    fn a_peer_on_datagrams_is_stalled_before_it_is_lost() {
        let mut liveness = Liveness::new(S, true);
        assert_eq!(liveness.silence(S * 3), Some(Silence::Stalled));
        assert_eq!(liveness.silence(S * 60), None);
        assert_eq!(liveness.silence(S * 61), Some(Silence::Lost));
        assert!(liveness.heard(S * 61) && !liveness.is_stalled());
    }
}
