//! How the units of a frame came, for who logs them.

use std::time::Duration;

use crate::seal::Opened;
use crate::wire::{HEADER_LEN, TAG_LEN};

/// Units of one frame that are told of; of those beyond nothing is known. The longest frame of a gateway, 128 KiB, has
/// half as many of the smallest units.
pub const MAX_UNITS_TOLD: usize = 16_384;

/// How one unit of a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitArrival {
    /// Its place among the units of its frame, from 0.
    pub index: u32,
    /// Length of its record in bytes, header and tag included.
    pub bytes: u32,
    /// Whether it was encrypted, and not in clear.
    pub encrypted: bool,
    /// Whether it did not come itself, but was put together from repair symbols.
    pub repaired: bool,
    /// The sender's wall clock (ns) when its frame was about to be sealed.
    pub sealed_at: u64,
    /// Monotonic time of this end when it came, or could be put together.
    pub arrived: Duration,
}

impl UnitArrival {
    /// That of a verified media record.
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
