//! The unit header: the position of a media record among the others of its session (protocol.md §7).

use crate::repair::max_repairs;
use crate::wire::{Malformed, Reader};

/// Length of the unit header in bytes.
pub const UNIT_HEADER_LEN: usize = 10;

/// Maximum number of source records of a block.
const MAX_SOURCES: u16 = crate::repair::MAX_SOURCES as u16;

/// The header in front of the payload of every media record where records may arrive in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitHeader {
    /// The record's number in its session, modulo 2³².
    pub number: u32,
    /// Index among the source records of its block, or among the repair records.
    pub index: u16,
    /// Number of source records of the block, 1 to [`MAX_SOURCES`](crate::repair::MAX_SOURCES).
    pub sources: u16,
    /// Number of repair records of the block, at most half as many, rounded up.
    pub repairs: u16,
}

impl UnitHeader {
    /// The header's bytes.
    pub fn to_bytes(self) -> [u8; UNIT_HEADER_LEN] {
        let mut bytes = [0; UNIT_HEADER_LEN];
        bytes[..4].copy_from_slice(&self.number.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.index.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.sources.to_be_bytes());
        bytes[8..].copy_from_slice(&self.repairs.to_be_bytes());
        bytes
    }

    /// Splits a payload into its unit header and the rest. `repair` is the record's flag.
    ///
    /// # Errors
    /// [`Malformed`] if the payload is too short, the counts are impossible, or the index is outside them.
    pub fn split(payload: &[u8], repair: bool) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new(payload);
        let header = Self {
            number: reader.u32()?,
            index: reader.u16()?,
            sources: reader.u16()?,
            repairs: reader.u16()?,
        };
        let of = if repair { header.repairs } else { header.sources };
        let fits = (1..=MAX_SOURCES).contains(&header.sources)
            && usize::from(header.repairs) <= max_repairs(usize::from(header.sources))
            && header.index < of;
        if fits {
            Ok((header, reader.rest()))
        } else {
            Err(Malformed)
        }
    }
}
