//! Configuration of a session.

use std::time::Duration;

use super::datagram_handshake::Entry;
use super::delivery::Delivery;
use super::rekey::SWITCH_PATIENCE;
use super::shape::ShapePlan;
use crate::keys::{HandshakeConfig, Side};
use crate::seal::{SealLimits, Suite};
use crate::sign::SignMode;
use crate::unit::Unit;

/// Soft limit on the records of one key (keys.md §6).
const MAX_SOFT_RECORDS: u64 = 1 << 20;
/// The strictest soft limit: the control key must last until the next epoch is agreed.
const MIN_SOFT_RECORDS: u64 = 16;
/// Soft limit on the age of an epoch.
const MAX_SOFT_AGE: Duration = Duration::from_secs(600);
/// The hard limit on records is this many times the soft one.
const HARD_RECORDS_FACTOR: u64 = 2;
/// The hard limit on age is this much past the soft one, so that the session survives a link that is down for a
/// while.
const HARD_AGE_GRACE: Duration = Duration::from_secs(60);

/// Transport of the messages. It decides how malformed and missing messages are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// One byte stream: a malformed message means that framing is lost.
    Stream,
    /// UDP: messages arrive in any order or not at all, and anybody can inject one.
    Datagrams(Entry),
    /// QUIC: handshake and control messages on a stream, media in any order.
    Quic(QuicMedia),
}

/// Transport of the media of a session over QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicMedia {
    /// Streams, one per group of pictures: a record may have any length.
    Streams,
    /// Datagrams of at most this many bytes.
    Datagrams(usize),
}

/// Limits after which a new epoch is begun.
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
    /// A stricter policy: soft limits of `records` per key (16 to 2²⁰) and `age` (100 ms to 600 s). Agreeing on the
    /// next epoch alone would use up fewer than 16 records.
    pub fn new(records: u64, age: Duration) -> Option<Self> {
        let fits = (MIN_SOFT_RECORDS..=MAX_SOFT_RECORDS).contains(&records)
            && (Duration::from_millis(100)..=MAX_SOFT_AGE).contains(&age);
        fits.then_some(Self { records, age })
    }

    pub(crate) fn soft_records(&self) -> u64 {
        self.records
    }

    /// Halfway from the soft to the hard number of records: from here on a new epoch is urgent.
    pub(crate) fn pressing_records(&self) -> u64 {
        self.records + self.records * (HARD_RECORDS_FACTOR - 1) / 2
    }

    /// True if so many cells were sealed under a key that a new epoch is due.
    pub(crate) fn cells_used_up(cells: u64) -> bool {
        cells >= MAX_SOFT_RECORDS
    }

    pub(crate) fn soft_age(&self) -> Duration {
        self.age
    }

    /// The age at which the next epoch is offered: early enough to be agreed on before the soft age is over.
    pub(crate) fn offer_age(&self) -> Duration {
        self.age - SWITCH_PATIENCE.min(self.age / 2)
    }

    /// The age from which on the publisher switches at a keyframe.
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

/// Configuration of a session.
#[derive(Clone)]
pub struct SessionConfig {
    /// Identity, role, offers.
    pub handshake: HandshakeConfig,
    /// The side of the connection: initiator or responder.
    pub side: Side,
    /// Transport of the messages.
    pub carrier: Carrier,
    /// Limits for new epochs; used only by a publisher.
    pub rekey: RekeyPolicy,
    /// Delivery of media where it may be lost.
    pub delivery: Delivery,
    /// The unit that is sealed at once; used only by a publisher.
    pub unit: Unit,
    /// Seed of a selection by rate: the same seed gives the same choice. Not a secret.
    pub selection_seed: u64,
    /// Publisher: the cells that both ends send once the session is established; `None` to send records as they come.
    /// Not over QUIC.
    pub shape: Option<ShapePlan>,
    /// Viewer: which groups it joins when the publisher offers one; `None` for none.
    pub group: Option<GroupPolicy>,
}

/// Which groups a viewer joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPolicy {
    /// Least mode of signing. Where frames are not signed, every member can forge the camera.
    pub sign: SignMode,
    /// Opener of the frames.
    pub opened_by: OpenedBy,
}

/// Opener of the frames of a group that a viewer joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedBy {
    /// The session.
    Session,
    /// The program: they come through a relay, or it cannot open them because it is an archive's node. Then the session
    /// only passes on what the camera says ([`Event::GroupSaid`](super::Event::GroupSaid)), its terms first, and the
    /// program joins ([`Input::JoinGroup`](super::Input::JoinGroup)).
    Program,
}
