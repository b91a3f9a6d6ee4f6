//! Path MTU discovery by probing (RFC 8899, DPLPMTUD).

use std::time::Duration;

use crate::wire::{BASE_DATAGRAM, MAX_DATAGRAM};

/// Sizes tried, in bytes of UDP payload: those of IPv6 packets of 1280, 1400, 1492 and 1500 bytes, of an IPv4 packet of
/// 1500 bytes, and of jumbo frames.
const SIZES: [usize; 6] = [1232, 1352, 1444, 1452, 1472, MAX_DATAGRAM];
/// Attempts at a size before it counts as too long.
const ATTEMPTS: u8 = 3;
/// Timeout of a probe.
const PROBE_PATIENCE: Duration = Duration::from_millis(400);
/// Interval after which sizes that were too long are tried again, since paths change.
const RAISE_INTERVAL: Duration = Duration::from_secs(600);
/// If the viewer reports nothing for this long, long packets may no longer arrive while short ones do.
pub(super) const BLACK_HOLE: Duration = Duration::from_secs(1);

/// Searches upwards, one size after the other.
pub(super) struct MtuSearch {
    /// Longest datagram that the path is known to carry.
    found: usize,
    /// Index of the size that is being tried.
    trying: usize,
    attempts: u8,
    next: Duration,
    token: u32,
}

impl MtuSearch {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            found: BASE_DATAGRAM,
            trying: 0,
            attempts: 0,
            next: now,
            token: 0,
        }
    }

    /// The longest datagram that is known to arrive.
    pub(super) fn found(&self) -> usize {
        self.found
    }

    pub(super) fn deadline(&self) -> Duration {
        self.next
    }

    /// The probe that is due: its token, and how long a datagram to make of it.
    pub(super) fn probe(&mut self, now: Duration) -> Option<(u32, usize)> {
        if now < self.next {
            return None;
        }
        if self.attempts == ATTEMPTS || self.trying == SIZES.len() {
            // This size is too long, and so are those after it.
            self.trying = SIZES.iter().position(|&size| size > self.found).unwrap_or(SIZES.len());
            self.attempts = 0;
            self.next = now + RAISE_INTERVAL;
            return None;
        }
        self.attempts += 1;
        self.token = self.token.wrapping_add(1);
        self.next = now + PROBE_PATIENCE;
        Some((self.token, SIZES[self.trying]))
    }

    /// A probe has arrived. Returns true if the path is now known to carry more.
    pub(super) fn acknowledged(&mut self, token: u32, now: Duration) -> bool {
        // The answer to an earlier attempt at the same size is as good.
        let recent = self.token.wrapping_sub(token) < u32::from(self.attempts);
        let Some(&size) = SIZES.get(self.trying).filter(|_| recent) else {
            return false;
        };
        self.found = size;
        self.trying += 1;
        self.attempts = 0;
        self.next = now;
        true
    }

    /// Packets vanish, perhaps because they are long: start again with the shortest.
    pub(super) fn vanished(&mut self, now: Duration) {
        if self.found > BASE_DATAGRAM {
            *self = Self {
                token: self.token,
                ..Self::new(now + RAISE_INTERVAL)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search after it ended on a path that carries datagrams of at most `carries` bytes.
    fn search(carries: usize) -> MtuSearch {
        let mut search = MtuSearch::new(Duration::ZERO);
        let mut now = Duration::ZERO;
        for _ in 0..100 {
            if let Some((token, size)) = search.probe(now)
                && size <= carries
            {
                search.acknowledged(token, now);
            }
            now = now.max(search.deadline()).min(Duration::from_secs(60));
        }
        search
    }

    #[test]
    fn the_longest_size_that_arrives_is_found() {
        for (carries, found) in [(1200, 1200), (1280, 1232), (1472, 1472), (9000, MAX_DATAGRAM)] {
            assert_eq!(search(carries).found(), found, "{carries}");
        }
    }

    #[test]
    fn a_lost_probe_is_sent_again_before_its_size_is_given_up() {
        let mut search = MtuSearch::new(Duration::ZERO);
        let (first, size) = search.probe(Duration::ZERO).expect("due");
        assert_eq!(search.probe(Duration::from_millis(100)), None);
        let (second, again) = search.probe(PROBE_PATIENCE).expect("due");
        assert_eq!(size, again);
        assert!(search.acknowledged(first, PROBE_PATIENCE), "the first was only late");
        assert!(!search.acknowledged(second, PROBE_PATIENCE), "that size is known");
        assert_eq!(search.found(), size);
    }

    #[test]
    fn where_long_packets_vanish_the_search_starts_over() {
        let mut search = search(1500);
        search.vanished(Duration::from_secs(70));
        assert_eq!(search.found(), BASE_DATAGRAM);
        assert_eq!(search.probe(Duration::from_secs(71)), None, "not at once");
    }
}
