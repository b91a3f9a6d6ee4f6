//! Datagrams of one channel as they come: each once, and in their order (protocol.md §12).

use std::collections::VecDeque;
use std::time::Duration;

use super::counts::DataCounts;
use crate::wire::DataOrder;

/// Longest wait of an ordered channel for a datagram that is missing: what controls a vehicle is worth nothing later.
pub(super) const ORDER_PATIENCE: Duration = Duration::from_millis(60);
/// Maximum number of datagrams that wait behind a missing one: at the highest rate, more than come in that time.
const MAX_HELD: usize = 64;
/// A number that is so far ahead, modulo 2³², is behind.
const BEHIND: u32 = 1 << 31;

/// Puts the datagrams of a channel into their order.
#[derive(Default)]
pub(super) struct Inbox {
    /// The number that is handed out next.
    next: u32,
    /// Those from `next` on that came before it, as far as they came.
    held: VecDeque<Option<Vec<u8>>>,
    /// When `next` is given up, if others wait behind it.
    patience: Option<Duration>,
}

impl Inbox {
    /// A datagram came. Appends to `out` what can be handed out now.
    pub(super) fn take(
        &mut self,
        now: Duration,
        order: DataOrder,
        (number, bytes): (u32, &[u8]),
        counts: &mut DataCounts,
        out: &mut Vec<Vec<u8>>,
    ) {
        let ahead = number.wrapping_sub(self.next);
        if ahead >= BEHIND {
            // It came before, or too late.
            counts.stale += 1;
            return;
        }
        if order == DataOrder::Newest {
            counts.lost += u64::from(ahead);
            self.next = number.wrapping_add(1);
            out.push(bytes.to_vec());
            return;
        }
        let ahead = self.make_room(ahead as usize, counts, out);
        if self.held.len() <= ahead {
            self.held.resize(ahead + 1, None);
        }
        if let Some(slot) = self.held.get_mut(ahead) {
            if slot.is_some() {
                counts.stale += 1;
            }
            *slot = Some(bytes.to_vec());
        }
        self.hand_out(now, out);
    }

    /// Gives up the oldest numbers, so that one that is `ahead` of the next can be held. Returns how far ahead it is
    /// then.
    fn make_room(&mut self, ahead: usize, counts: &mut DataCounts, out: &mut Vec<Vec<u8>>) -> usize {
        let Some(beyond) = (ahead + 1).checked_sub(MAX_HELD).filter(|beyond| *beyond > 0) else {
            return ahead;
        };
        let given_up = beyond.min(self.held.len());
        let had: Vec<Vec<u8>> = self.held.drain(..given_up).flatten().collect();
        counts.lost += (beyond - had.len()) as u64;
        out.extend(had);
        self.next = self.next.wrapping_add(beyond as u32);
        ahead - beyond
    }

    /// Hands out what is next, and begins to wait for what is missing.
    fn hand_out(&mut self, now: Duration, out: &mut Vec<Vec<u8>>) {
        let before = self.next;
        while let Some(bytes) = self.held.front_mut().and_then(Option::take) {
            self.held.pop_front();
            self.next = self.next.wrapping_add(1);
            out.push(bytes);
        }
        if self.held.is_empty() {
            self.patience = None;
        } else if self.patience.is_none() || self.next != before {
            self.patience = Some(now + ORDER_PATIENCE);
        }
    }

    /// Gives up what is missing, if its time is over.
    pub(super) fn timeout(&mut self, now: Duration, counts: &mut DataCounts, out: &mut Vec<Vec<u8>>) {
        if self.patience.take_if(|at| now >= *at).is_none() {
            return;
        }
        while self.held.front().is_some_and(Option::is_none) {
            self.held.pop_front();
            self.next = self.next.wrapping_add(1);
            counts.lost += 1;
        }
        self.hand_out(now, out);
    }

    /// When [`timeout`](Self::timeout) is due.
    pub(super) fn deadline(&self) -> Duration {
        self.patience.unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// An inbox that is at `next`, and the numbers that it hands out.
    struct Trial {
        inbox: Inbox,
        order: DataOrder,
        counts: DataCounts,
        out: Vec<Vec<u8>>,
    }

    impl Trial {
        fn new(order: DataOrder, next: u32) -> Self {
            Self {
                inbox: Inbox {
                    next,
                    ..Inbox::default()
                },
                order,
                counts: DataCounts::default(),
                out: Vec::new(),
            }
        }

        fn take(&mut self, ms: u32, number: u32) -> Vec<u32> {
            let datagram = (number, &number.to_be_bytes()[..]);
            self.inbox
                .take(MS * ms, self.order, datagram, &mut self.counts, &mut self.out);
            self.handed()
        }

        fn timeout(&mut self, ms: u32) -> Vec<u32> {
            self.inbox.timeout(MS * ms, &mut self.counts, &mut self.out);
            self.handed()
        }

        fn handed(&mut self) -> Vec<u32> {
            let number = |bytes: Vec<u8>| u32::from_be_bytes(bytes.try_into().expect("a number"));
            self.out.drain(..).map(number).collect()
        }
    }

    #[test]
    fn ordered_ones_wait_for_a_missing_one_and_not_for_long() {
        let mut trial = Trial::new(DataOrder::Ordered, 0);
        assert_eq!(trial.take(0, 0), [0]);
        assert!(trial.take(10, 2).is_empty() && trial.take(12, 3).is_empty());
        assert_eq!(trial.inbox.deadline(), MS * 70);
        assert_eq!(trial.take(20, 1), [1, 2, 3]);
        assert_eq!((trial.inbox.deadline(), trial.counts.lost), (Duration::MAX, 0));
        assert!(trial.take(21, 2).is_empty(), "a copy");
        assert!(trial.take(30, 6).is_empty() && trial.take(40, 6).is_empty());
        assert!(trial.timeout(89).is_empty());
        assert_eq!(trial.timeout(90), [6]);
        assert_eq!((trial.counts.lost, trial.counts.stale), (2, 2));
        assert!(trial.take(91, 5).is_empty(), "too late");
    }

    #[test]
    fn the_newest_is_handed_out_at_once_and_none_after_a_newer_one() {
        let mut trial = Trial::new(DataOrder::Newest, 0);
        assert_eq!(trial.take(0, 3), [3]);
        assert!(trial.take(0, 2).is_empty() && trial.take(0, 3).is_empty());
        assert_eq!(trial.take(0, 4), [4]);
        assert_eq!((trial.counts.lost, trial.counts.stale), (3, 2));
    }

    #[test]
    fn numbers_go_on_after_the_last_one() {
        for order in [DataOrder::Ordered, DataOrder::Newest] {
            let mut trial = Trial::new(order, u32::MAX);
            assert_eq!(trial.take(0, u32::MAX), [u32::MAX]);
            assert_eq!(trial.take(0, 0), [0]);
            assert!(trial.take(0, u32::MAX).is_empty());
        }
    }

    #[test]
    fn a_jump_of_any_length_is_taken_in_a_bounded_number_of_steps() {
        let mut trial = Trial::new(DataOrder::Ordered, 0);
        assert!(trial.take(0, 1).is_empty());
        assert_eq!(trial.take(1, BEHIND - 1), [1], "what was held goes before");
        assert_eq!(trial.inbox.held.len(), MAX_HELD);
        assert_eq!(trial.timeout(200), [BEHIND - 1]);
        assert_eq!(trial.counts.lost, u64::from(BEHIND) - 2);
        // Behind a missing one, no more than so many are held.
        let began = BEHIND + 1;
        let handed: usize = (0..1000).map(|ahead| trial.take(300, began + ahead).len()).sum();
        assert_eq!(handed, 1000, "the first one was given up when too many waited");
        assert_eq!(trial.counts.lost, u64::from(BEHIND) - 1);
    }
}
