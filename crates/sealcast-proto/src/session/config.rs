//! What a session is configured with.

use std::time::Duration;

use super::datagram_handshake::Entry;
use super::delivery::Delivery;
use super::rekey::SWITCH_PATIENCE;
use crate::keys::{HandshakeConfig, Side};
use crate::seal::{SealLimits, Suite};
use crate::unit::Unit;

/// Soft limit on the records of one key (keys.md §6).
const MAX_SOFT_RECORDS: u64 = 1 << 20;
/// The strictest soft limit: the control key must last until the next epoch is agreed.
const MIN_SOFT_RECORDS: u64 = 16;
/// Soft limit on the age of an epoch.
const MAX_SOFT_AGE: Duration = Duration::from_secs(600);
/// The hard limit on records is this many times the soft one.
const HARD_RECORDS_FACTOR: u64 = 2;
/// The hard limit on age is this much past the soft one: a link may be down for a while without costing the session.
const HARD_AGE_GRACE: Duration = Duration::from_secs(60);

/// What carries the messages, which decides what becomes of malformed and of missing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// One byte stream: a malformed message means that framing is lost.
    Stream,
    /// UDP: messages come in any order, or not at all, and anybody can slip one in.
    Datagrams(Entry),
    /// QUIC: handshake and control messages on a stream, media in any order.
    Quic(QuicMedia),
}

/// What carries the media of a session over QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicMedia {
    /// Streams, one for each group of pictures: a record may be as long as it likes.
    Streams,
    /// Datagrams of at most so many bytes.
    Datagrams(usize),
}

/// When a new epoch is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RekeyPolicy {
    records: u64,
    age: Duration,
}

impl Default for RekeyPolicy {
    fn default() -> Self {
        Self {
            records: MAX_SOFT_RECORDS,
            age: MAX_SOFT_AGE,
        }
    }
}

impl RekeyPolicy {
    /// A stricter policy: soft limits of `records` per key (16 to 2²⁰) and `age` (100 ms to 600 s). Fewer than 16 would
    /// be used up by agreeing on the next epoch.
    pub fn new(records: u64, age: Duration) -> Option<Self> {
        let fits = (MIN_SOFT_RECORDS..=MAX_SOFT_RECORDS).contains(&records)
            && (Duration::from_millis(100)..=MAX_SOFT_AGE).contains(&age);
        fits.then_some(Self { records, age })
    }

    pub(crate) fn soft_records(&self) -> u64 {
        self.records
    }

    /// Halfway from the soft to the hard number of records: a new epoch is pressing.
    pub(crate) fn pressing_records(&self) -> u64 {
        self.records + self.records * (HARD_RECORDS_FACTOR - 1) / 2
    }

    pub(crate) fn soft_age(&self) -> Duration {
        self.age
    }

    /// The age at which the next epoch is offered: early enough to be agreed on before the soft age is over.
    pub(crate) fn offer_age(&self) -> Duration {
        self.age - SWITCH_PATIENCE.min(self.age / 2)
    }

    /// The age from which on a keyframe is a reason to switch.
    pub(crate) fn switch_age(&self) -> Duration {
        self.age - SWITCH_PATIENCE.min(self.age / 8)
    }

    pub(crate) fn hard_age(&self) -> Duration {
        self.age + HARD_AGE_GRACE
    }

    pub(crate) fn hard_limits(&self, suite: &Suite) -> SealLimits {
        SealLimits {
            records: self.records * HARD_RECORDS_FACTOR,
            blocks: suite.block_limit.unwrap_or(SealLimits::COUNTER.blocks),
        }
    }
}

/// What a session is configured with.
#[derive(Clone)]
pub struct SessionConfig {
    /// Identity, role, offers.
    pub handshake: HandshakeConfig,
    /// Which end of the connection this is.
    pub side: Side,
    /// What carries the messages.
    pub carrier: Carrier,
    /// When new epochs begin; only a publisher's counts for beginning one.
    pub rekey: RekeyPolicy,
    /// How media is delivered where it may be lost.
    pub delivery: Delivery,
    /// What is sealed at once; only a publisher's counts.
    pub unit: Unit,
    /// What a selection by rate draws from: the same seed draws the same. Not a secret.
    pub selection_seed: u64,
}
