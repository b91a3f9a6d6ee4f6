//! Arrival of the units of a frame, for programs that log it.

use std::time::Duration;

use crate::seal::Opened;
use crate::wire::{HEADER_LEN, TAG_LEN};

/// Maximum number of units of one frame whose arrival is reported; of any further ones nothing is known. A gateway's
/// longest frame, 128 KiB, has half as many of the smallest units.
pub const MAX_UNITS_TOLD: usize = 16_384;

/// Arrival of one unit of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitArrival {
    /// Its index among the units of its frame, from 0.
    pub index: u32,
    /// Length of its record in bytes, header and tag included.
    pub bytes: u32,
    /// True if it was encrypted, false if it was in clear.
    pub encrypted: bool,
    /// True if it did not arrive itself but was recovered from repair symbols.
    pub repaired: bool,
    /// Timestamp of its record: the sender's wall clock (ns) when its frame was about to be sealed.
    pub sealed_at: u64,
    /// Time on this end's monotonic clock when it arrived or could be recovered.
    pub arrived: Duration,
}

impl UnitArrival {
    /// The arrival of a verified media record.
    pub fn new(index: u32, record: &Opened<'_>, arrived: Duration, repaired: bool) -> Self {
        let header = record.header();
        Self {
            index,
            bytes: (HEADER_LEN + record.payload().len() + TAG_LEN) as u32,
            encrypted: header.flags.encrypted(),
            repaired,
            sealed_at: header.timestamp,
            arrived,
        }
    }
}
