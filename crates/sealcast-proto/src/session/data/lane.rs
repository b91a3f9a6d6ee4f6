//! One channel of a session: what waits to be sent on it, and what came.

use std::collections::VecDeque;
use std::time::Duration;

use super::counts::DataCounts;
use super::inbox::Inbox;
use crate::wire::{DataName, DataOrder};

/// An ordered datagram is sealed a second time after so long, where it may be lost: longer than most losses last, and
/// short of what the receiver waits.
pub(super) const COPY_AFTER: Duration = Duration::from_millis(20);
/// Maximum number of datagrams of a channel that wait: an eighth of a second at the highest rate.
const MAX_WAITING: usize = 64;

/// A channel, at one of the ends.
pub(super) struct Lane {
    pub(super) name: DataName,
    /// Order in which this end sends on it; `None` if it does not.
    pub(super) sends: Option<DataOrder>,
    /// Order in which the peer sends on it; `None` if nothing is taken.
    pub(super) hears: Option<DataOrder>,
    pub(super) inbox: Inbox,
    /// Number of the next datagram that is sent.
    number: u32,
    waiting: VecDeque<Vec<u8>>,
    /// Datagrams that were sent and are sent once more, each with its time.
    copies: VecDeque<(Duration, u32, Vec<u8>)>,
}

impl Lane {
    pub(super) fn new(name: DataName) -> Self {
        Self {
            name,
            sends: None,
            hears: None,
            inbox: Inbox::default(),
            number: 0,
            waiting: VecDeque::new(),
            copies: VecDeque::new(),
        }
    }

    /// From now on this end sends in this way, or not at all: then nothing waits any more.
    pub(super) fn send_as(&mut self, order: Option<DataOrder>) {
        self.sends = order;
        if order.is_none() {
            self.waiting.clear();
            self.copies.clear();
        }
    }

    /// The program has a datagram. It drives out what is worth less.
    pub(super) fn push(&mut self, order: DataOrder, bytes: &[u8], counts: &mut DataCounts) {
        let most = match order {
            DataOrder::Ordered => MAX_WAITING,
            DataOrder::Newest => 1,
        };
        while self.waiting.len() >= most {
            self.waiting.pop_front();
            counts.too_fast += 1;
        }
        self.waiting.push_back(bytes.to_vec());
    }

    /// Length of the datagram that is sent next.
    pub(super) fn next_length(&self) -> Option<usize> {
        self.waiting.front().map(Vec::len)
    }

    /// The datagram that is sent next, with its number.
    pub(super) fn next(&mut self) -> Option<(u32, Vec<u8>)> {
        let bytes = self.waiting.pop_front()?;
        let number = self.number;
        self.number = number.wrapping_add(1);
        Some((number, bytes))
    }

    /// This one was sent where it may be lost.
    pub(super) fn sent(&mut self, now: Duration, number: u32, bytes: Vec<u8>) {
        if self.sends == Some(DataOrder::Ordered) && self.copies.len() < MAX_WAITING {
            self.copies.push_back((now + COPY_AFTER, number, bytes));
        }
    }

    /// A datagram that is sent once more now.
    pub(super) fn copy(&mut self, now: Duration) -> Option<(u32, Vec<u8>)> {
        let (_, number, bytes) = self.copies.pop_front_if(|(at, ..)| now >= *at)?;
        Some((number, bytes))
    }

    /// When a copy, or giving up what is missing, is due.
    pub(super) fn deadline(&self) -> Duration {
        let copy = self.copies.front().map_or(Duration::MAX, |(at, ..)| *at);
        copy.min(self.inbox.deadline())
    }
}
