//! Cells: records of constant size that carry other records, or pieces of them (protocol.md §10).

use std::time::Duration;

use super::{BASE_DATAGRAM, CONNECTION_LEN, HEADER_LEN, Malformed, Reader, TAG_LEN};

/// Length of the longest cell in bytes, header and tag included: it fits every datagram.
pub const MAX_CELL: usize = BASE_DATAGRAM - CONNECTION_LEN;
/// Length of the shortest cell in bytes: on datagrams it must hold a NACK, and a quarter of an offer of new keys.
pub const MIN_CELL: usize = 432;
/// Bytes of a cell that are not its inner bytes: header, tag, and the two fields before the inner bytes.
pub const CELL_OVERHEAD: usize = HEADER_LEN + FIELDS + TAG_LEN;
/// Length of the fields before the inner bytes.
const FIELDS: usize = 4;
/// The field `first` of a cell in which no record begins.
const NONE: u16 = u16::MAX;
/// Most cells that leave at once.
const MAX_CELLS: u16 = 256;
/// The shortest and the longest time between two ticks.
const TICKS: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(1);

/// The cells that an end sends: at every tick the same number, of the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPlan {
    /// Time between two ticks, 1 ms to 1 s.
    pub tick: Duration,
    /// Cells at each tick, 1 to 256.
    pub cells: u16,
    /// Length of each in bytes, header and tag included: [`MIN_CELL`] to [`MAX_CELL`].
    pub size: u16,
}

impl CellPlan {
    /// Bytes that a cell carries.
    pub fn room(&self) -> usize {
        usize::from(self.size) - CELL_OVERHEAD
    }

    /// Returns true if all fields are within their bounds.
    pub(crate) fn is_valid(&self) -> bool {
        TICKS.contains(&self.tick)
            && (1..=MAX_CELLS).contains(&self.cells)
            && (MIN_CELL..=MAX_CELL).contains(&usize::from(self.size))
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        // A second has fewer than 2^32 nanoseconds.
        out.extend_from_slice(&(self.tick.as_nanos() as u32).to_be_bytes());
        out.extend_from_slice(&self.cells.to_be_bytes());
        out.extend_from_slice(&self.size.to_be_bytes());
    }

    pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let plan = Self {
            tick: Duration::from_nanos(reader.u32()?.into()),
            cells: reader.u16()?,
            size: reader.u16()?,
        };
        plan.is_valid().then_some(plan).ok_or(Malformed)
    }
}

/// The payload of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Number of inner bytes; zeros follow them.
    length: usize,
    /// Offset among the inner bytes of the first record that begins in this cell, if one does.
    pub(crate) first: Option<usize>,
}

impl Cell {
    /// Room for the inner bytes in a payload.
    pub(crate) fn room(payload: &mut [u8]) -> &mut [u8] {
        &mut payload[FIELDS..]
    }

    /// Writes the fields of a payload whose first `length` inner bytes are in place and followed by zeros.
    pub(crate) fn put(payload: &mut [u8], length: usize, first: Option<usize>) {
        let first = first.map_or(NONE, |first| first as u16);
        payload[..2].copy_from_slice(&(length as u16).to_be_bytes());
        payload[2..FIELDS].copy_from_slice(&first.to_be_bytes());
    }

    /// Parses the payload of a cell.
    ///
    /// # Errors
    /// [`Malformed`]: a field points beyond the payload, or what follows the inner bytes is not zero.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let (length, first) = (usize::from(reader.u16()?), reader.u16()?);
        let first = (first != NONE).then_some(usize::from(first));
        reader.bytes(length)?;
        let fits = first.is_none_or(|first| first < length);
        let filled = reader.rest().iter().all(|&byte| byte == 0);
        (fits && filled).then_some(Self { length, first }).ok_or(Malformed)
    }

    /// The inner bytes of the payload that was parsed.
    pub(crate) fn inner(self, payload: &mut [u8]) -> &mut [u8] {
        &mut payload[FIELDS..FIELDS + self.length]
    }
}
