//! Pings, and the detection of lost peers.

use std::time::Duration;

use crate::clock::Now;

use super::{ELSEWHERE_TIMEOUT, PART_TIMEOUT, PEER_TIMEOUT, PING_INTERVAL, STALL_TIMEOUT};

/// Pings whose pongs are still taken. With one each 500 ms, a round trip of 4 s is measured.
const MAX_UNANSWERED: usize = 8;

#[derive(Clone, Copy)]
pub(super) struct Liveness {
    /// Time at which the last valid record arrived.
    valid: Duration,
    /// Time at which bytes last arrived, valid or not.
    bytes: Duration,
    next_ping: Duration,
    /// Wall clock times of the last pings that no pong has answered.
    unanswered: [Option<u64>; MAX_UNANSWERED],
    /// True on datagrams, where a silent peer is stalled before it is lost.
    stalls: bool,
    stalled: bool,
    /// True if other addresses of the peer are known.
    elsewhere: bool,
    /// True once a valid record arrived.
    heard: bool,
}

/// News about a peer from which a valid record came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// Nothing was heard of it before.
    pub(super) first: bool,
    /// It was stalled.
    pub(super) again: bool,
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
            unanswered: [None; MAX_UNANSWERED],
            stalls,
            stalled: false,
            elsewhere: false,
            heard: false,
        }
    }

    /// A valid record arrived. Returns what is new.
    pub(super) fn heard(&mut self, now: Duration) -> Heard {
        self.valid = now;
        self.bytes = now;
        Heard {
            first: !std::mem::replace(&mut self.heard, true),
            again: std::mem::take(&mut self.stalled),
        }
    }

    /// Other addresses of the peer are known: it is not waited for as long at this one.
    pub(super) fn known_elsewhere(&mut self) {
        self.elsewhere = true;
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
            let lost = if self.elsewhere {
                ELSEWHERE_TIMEOUT
            } else {
                STALL_TIMEOUT
            };
            return self.valid + lost;
        }
        (self.bytes + PEER_TIMEOUT).min(self.valid + PART_TIMEOUT)
    }

    /// True if a ping is due; it has the wall clock time of `now`, and the next one is scheduled.
    pub(super) fn take_ping(&mut self, now: Now) -> bool {
        let due = now.monotonic >= self.next_ping;
        if due {
            self.next_ping = now.monotonic + PING_INTERVAL;
            self.unanswered.rotate_right(1);
            self.unanswered[0] = Some(now.wall);
        }
        due
    }

    /// True if a pong with this time answers a ping; true once for each.
    pub(super) fn take_pong(&mut self, pinged: u64) -> bool {
        let ping = self.unanswered.iter_mut().find(|ping| **ping == Some(pinged));
        ping.is_some_and(|ping| ping.take().is_some())
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
    fn a_pong_counts_if_it_answers_one_of_the_last_pings_and_once() {
        let mut liveness = Liveness::new(S, true);
        for second in 1..=9 {
            let now = Now {
                monotonic: S * second,
                wall: u64::from(second),
            };
            assert!(liveness.take_ping(now) && !liveness.take_ping(now));
        }
        assert!(!liveness.take_pong(1), "too old");
        assert!(!liveness.take_pong(10), "never sent");
        assert!(liveness.take_pong(2) && liveness.take_pong(9));
        assert!(!liveness.take_pong(9), "answered before");
    }

    #[test]
    fn a_peer_on_datagrams_is_stalled_before_it_is_lost() {
        let mut liveness = Liveness::new(S, true);
        assert_eq!(liveness.silence(S * 3), Some(Silence::Stalled));
        assert_eq!(liveness.silence(S * 60), None);
        assert_eq!(liveness.silence(S * 61), Some(Silence::Lost));
        let news = |first, again| Heard { first, again };
        assert_eq!(liveness.heard(S * 61), news(true, true));
        assert!(!liveness.is_stalled());
        assert_eq!(liveness.heard(S * 62), news(false, false));
        assert_eq!(liveness.silence(S * 64), Some(Silence::Stalled));
        assert_eq!(liveness.heard(S * 64), news(false, true));
    }

    #[test]
    fn a_peer_that_has_other_addresses_is_not_waited_for_a_minute_at_one() {
        let mut liveness = Liveness::new(S, true);
        liveness.known_elsewhere();
        assert_eq!(liveness.silence(S * 3), Some(Silence::Stalled));
        assert_eq!((liveness.deadline(), liveness.silence(S * 10)), (S, None));
        assert_eq!(liveness.silence(S * 11), Some(Silence::Lost));
    }
}
