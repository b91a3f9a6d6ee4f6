//! Takes records out of the peer's cells.

use super::writer::ENTRY;
use crate::wire::{Cell, LENGTH_PREFIX, Malformed, MessageLength, message_length};

/// Records from the cells of one peer.
pub(in crate::session) struct CellReader {
    /// The limit on a record of a byte stream; none on datagrams, where each is whole.
    stream: Option<MessageLength>,
    /// On a byte stream: the beginning of a record that goes on in the next cell. It grows with what arrived.
    partial: Vec<u8>,
    /// Records, or parts of them, that could not be put together because a cell is missing.
    pub(super) broken: u64,
}

impl CellReader {
    pub(super) fn new(stream: Option<MessageLength>) -> Self {
        Self {
            stream,
            partial: Vec::new(),
            broken: 0,
        }
    }

    /// Process the payload of an opened cell, and pass each whole record in it to `take`, which returns false to stop.
    ///
    /// # Errors
    /// [`Malformed`]: the peer's fault, since the cell is authentic.
    pub(super) fn read<E: From<Malformed>>(
        &mut self,
        payload: &mut [u8],
        take: impl FnMut(&mut [u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let cell = Cell::parse(payload)?;
        let inner = cell.inner(payload);
        match self.stream {
            Some(limit) => {
                self.join(inner, cell.first);
                self.records(limit, take)
            }
            None if cell.first == (!inner.is_empty()).then_some(0) => datagrams(inner, take),
            None => Err(Malformed.into()),
        }
    }

    /// Append the bytes of a cell. Where a cell before it is missing, a record is lost, and the next one begins where
    /// this cell says.
    fn join(&mut self, inner: &[u8], first: Option<usize>) {
        let (end, rest) = inner.split_at(first.unwrap_or(inner.len()));
        let continues = !self.partial.is_empty();
        self.partial.extend_from_slice(end);
        let whole = match (continues, self.missing()) {
            // Nothing was begun, so nothing goes on.
            (false, _) => end.is_empty(),
            (true, Some(0)) => true,
            // Without a new record in it, a cell may also leave the record incomplete.
            (true, Some(missing)) => missing > 0 && first.is_none(),
            (true, None) => first.is_none(),
        };
        if !whole {
            self.partial.clear();
            self.broken += 1;
        }
        self.partial.extend_from_slice(rest);
    }

    /// Bytes that the first record in `partial` lacks, negative if there are more; `None` while its length is not
    /// known.
    fn missing(&self) -> Option<i64> {
        let prefix = self.partial.first_chunk::<LENGTH_PREFIX>()?;
        Some(LENGTH_PREFIX as i64 + i64::from(u32::from_be_bytes(*prefix)) - self.partial.len() as i64)
    }

    fn records<E: From<Malformed>>(
        &mut self,
        limit: MessageLength,
        mut take: impl FnMut(&mut [u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut from = 0;
        while let Some(length) = message_length(&self.partial[from..], limit)? {
            let start = from + LENGTH_PREFIX;
            let Some(record) = self.partial.get_mut(start..start + length) else {
                break;
            };
            from = start + length;
            if !take(record)? {
                break;
            }
        }
        self.partial.drain(..from);
        Ok(())
    }
}

/// Pass each record of a cell on datagrams to `take`.
fn datagrams<E: From<Malformed>>(
    mut inner: &mut [u8],
    mut take: impl FnMut(&mut [u8]) -> Result<bool, E>,
) -> Result<(), E> {
    while !inner.is_empty() {
        let (length, rest) = inner.split_first_chunk_mut::<ENTRY>().ok_or(Malformed)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (record, rest) = rest.split_at_mut_checked(length).ok_or(Malformed)?;
        inner = rest;
        if !take(record)? {
            break;
        }
    }
    Ok(())
}
