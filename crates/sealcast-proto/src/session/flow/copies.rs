//! Expected second copies of records, which are no attack, and their number (protocol.md §7).

use std::collections::{BTreeMap, VecDeque};

use crate::session::keyring::Repeated;
use crate::wire::Header;

/// Most missing numbers whose requests are remembered.
const MAX_ASKED: usize = 4096;
/// Most records remembered of which copies are expected or have arrived.
const MAX_EXPECTED: usize = 1024;

/// A record that was opened and may come again.
struct Expected {
    record: Repeated,
    /// Copies that were asked for, or that are expected because repair was faster.
    copies: u32,
    /// Copies that arrived.
    came: u32,
}

/// The records that may arrive again. Nothing is stored or looked up while nothing is lost.
///
/// Repair cannot know if the record that it replaces is lost or late. So a record may arrive once more for each time
/// that it was asked for, and once more where repair symbols were faster; the sender also repeats the newest few
/// unasked. Every further copy is a replay.
#[derive(Default)]
pub(super) struct Copies {
    /// Number of requests, by the number in the unit header.
    asked: BTreeMap<u64, u32>,
    /// Oldest first, by number under a key.
    expected: VecDeque<Expected>,
}

impl Copies {
    /// Record `number` is missing and was asked for.
    pub(super) fn asked(&mut self, number: u64) {
        *self.asked.entry(number).or_default() += 1;
        if self.asked.len() > MAX_ASKED {
            self.asked.pop_first();
        }
    }

    /// Record `number` was opened for the first time. `others` is the number of copies in transit besides those that
    /// were asked for.
    pub(super) fn came(&mut self, number: u64, header: Header, others: u32) {
        let copies = self.asked.remove(&number).unwrap_or_default() + others;
        if copies > 0 {
            self.expect(Expected {
                record: Repeated::of(header),
                copies,
                came: 0,
            });
        }
    }

    /// Process a copy of a record that the sender may have repeated `unasked` times by itself. Returns true if it was
    /// expected.
    pub(super) fn take(&mut self, record: Repeated, unasked: u32) -> bool {
        if let Some(expected) = self
            .expected
            .iter_mut()
            .rev()
            .find(|expected| expected.record == record)
        {
            let due = expected.came < expected.copies + unasked;
            expected.came += u32::from(due);
            return due;
        }
        if unasked > 0 {
            self.expect(Expected {
                record,
                copies: 0,
                came: 1,
            });
        }
        unasked > 0
    }

    fn expect(&mut self, record: Expected) {
        if self.expected.len() == MAX_EXPECTED {
            self.expected.pop_front();
        }
        self.expected.push_back(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Flags, Kind};

    fn header(seq: u32) -> Header {
        Header {
            kind: Kind::Media,
            flags: Flags::frame(true, true, true),
            epoch: 0,
            stream: 1,
            seq,
            timestamp: 0,
        }
    }

    fn repeated(seq: u32) -> Repeated {
        Repeated { epoch: 0, seq }
    }

    /// Number of accepted copies out of ten.
    fn taken(copies: &mut Copies, seq: u32) -> usize {
        (0..10).filter(|_| copies.take(repeated(seq), 0)).count()
    }

    #[test]
    fn a_record_may_come_again_as_often_as_it_was_asked_for() {
        let mut copies = Copies::default();
        for asks in 0..4_u32 {
            for _ in 0..asks {
                copies.asked(asks.into());
            }
            copies.came(asks.into(), header(asks), 0);
            assert_eq!(taken(&mut copies, asks), asks as usize);
        }
        copies.asked(9);
        copies.came(9, header(9), 1);
        assert_eq!(taken(&mut copies, 9), 2, "and once more where it was recovered");
    }

    #[test]
    fn copies_that_nobody_asked_for_count_with_those_that_were() {
        let mut copies = Copies::default();
        assert!(copies.take(repeated(1), 1) && !copies.take(repeated(1), 1));
        assert!(copies.take(repeated(1), 2), "a second one after longer");
        copies.asked(2);
        copies.came(2, header(2), 0);
        let count = (0..10).filter(|_| copies.take(repeated(2), 1)).count();
        assert_eq!(count, 2);
    }

    #[test]
    fn another_epoch_has_other_records() {
        let mut copies = Copies::default();
        copies.asked(5);
        copies.came(5, header(5), 0);
        let other = Repeated { epoch: 1, seq: 5 };
        assert!(!copies.take(other, 0));
        assert!(copies.take(repeated(5), 0));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut copies = Copies::default();
        for number in 0..10_000 {
            copies.asked(number);
        }
        assert_eq!(copies.asked.len(), MAX_ASKED);
        for number in 0..10_000_u32 {
            copies.came(number.into(), header(number), 1);
        }
        assert_eq!((copies.asked.len(), copies.expected.len()), (0, MAX_EXPECTED));
        assert_eq!(taken(&mut copies, 0), 0);
        assert_eq!(taken(&mut copies, 9_999), 2);
    }
}
