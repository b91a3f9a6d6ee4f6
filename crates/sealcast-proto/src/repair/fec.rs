//! Forward error correction: repair symbols over the sealed records of a block, and recovery of lost records from them.

use std::ops::Range;

use reed_solomon_simd::rate::{HighRateDecoder, HighRateEncoder, RateDecoder, RateEncoder};

use super::engine::BlockEngine;

/// Maximum number of source records of a block.
pub const MAX_SOURCES: usize = 128;

/// Maximum number of repair symbols of a block.
pub const MAX_REPAIRS: usize = max_repairs(MAX_SOURCES);

/// Maximum length of a repair symbol in bytes: it must fit a datagram.
pub const MAX_SYMBOL: usize = 8972;

/// Maximum number of bytes that a [`Block`] holds.
pub const MAX_BLOCK_BYTES: usize = (MAX_SOURCES + MAX_REPAIRS) * MAX_SYMBOL;

/// Length of the length field at the start of a symbol, in bytes.
const LENGTH: usize = 2;

/// Maximum length of a source record in bytes.
const MAX_RECORD: usize = MAX_SYMBOL - LENGTH;

const SUPPORTED: &str = "the code takes every block within the limits";

/// Maximum number of repair symbols of a block with `sources` source records: half as many, rounded up.
pub const fn max_repairs(sources: usize) -> usize {
    sources.div_ceil(2)
}

/// Length in bytes of the symbols of a block whose longest source record has `longest_record` bytes. It is even.
pub const fn symbol_len(longest_record: usize) -> usize {
    (LENGTH + longest_record).next_multiple_of(2)
}

const fn is_block(sources: usize, repairs: usize) -> bool {
    sources >= 1 && sources <= MAX_SOURCES && repairs <= max_repairs(sources)
}

const fn is_record(length: usize) -> bool {
    length >= 1 && length <= MAX_RECORD
}

/// Error: a block that cannot be encoded. It is a mistake of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Too many records or symbols, or no record.
    #[error(
        "a block has 1 to {MAX_SOURCES} source records and at most half as many repair symbols, \
         not {sources} and {repairs}"
    )]
    Counts {
        /// Source records given.
        sources: usize,
        /// Repair symbols requested.
        repairs: usize,
    },
    /// An empty record, or one that is too long.
    #[error("a record that is repaired has 1 to {MAX_RECORD} bytes, not {length}")]
    Record {
        /// Its length in bytes.
        length: usize,
    },
}

/// Error: verified records of one block contradict each other. The peer violates the format, and its session should
/// end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("verified records of one block contradict each other")]
pub struct Inconsistent;

/// Makes repair symbols. It keeps its buffers: once it has encoded the largest block it allocates nothing more.
pub struct Encoder {
    code: HighRateEncoder<BlockEngine>,
    symbol: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder. The first encoder or decoder of a process builds tables of 8 MiB, which takes milliseconds, so one
    /// should exist before the first frame.
    pub fn new() -> Self {
        Self {
            code: HighRateEncoder::new(1, 1, 2, BlockEngine::new(), None).expect(SUPPORTED),
            symbol: Vec::new(),
        }
    }

    /// Computes the `repairs` symbols of a block and passes each to `each` with its index. `sources` are the block's
    /// sealed records, complete and in order.
    ///
    /// # Errors
    /// [`EncodeError`] if the block is outside the limits. `each` is not called then.
    pub fn encode<'a>(
        &mut self,
        sources: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
        repairs: usize,
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<(), EncodeError> {
        let count = sources.len();
        if !is_block(count, repairs) {
            return Err(EncodeError::Counts {
                sources: count,
                repairs,
            });
        }
        if let Some(record) = sources.clone().find(|record| !is_record(record.len())) {
            return Err(EncodeError::Record { length: record.len() });
        }
        if repairs == 0 {
            return Ok(());
        }
        let longest = sources.clone().map(<[u8]>::len).max().unwrap_or_default();
        let length = symbol_len(longest);
        self.code.reset(count, repairs, length).expect(SUPPORTED);
        for record in sources {
            let symbol = source_symbol(&mut self.symbol, record, length);
            self.code.add_original_shard(symbol).expect(SUPPORTED);
        }
        let symbols = self.code.encode().expect("all sources were added");
        for (index, symbol) in symbols.recovery_iter().enumerate() {
            each(index, symbol);
        }
        Ok(())
    }
}

/// Returns the symbol of a record: its length, the record, zeros.
fn source_symbol<'a>(buffer: &'a mut Vec<u8>, record: &[u8], length: usize) -> &'a [u8] {
    buffer.clear();
    buffer.extend_from_slice(&(record.len() as u16).to_be_bytes());
    buffer.extend_from_slice(record);
    buffer.resize(length, 0);
    buffer
}

/// Returns the record in a recovered symbol.
fn source_record(symbol: &[u8]) -> Result<&[u8], Inconsistent> {
    let (length, rest) = symbol.split_first_chunk::<LENGTH>().ok_or(Inconsistent)?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (record, zeros) = rest.split_at_checked(length).ok_or(Inconsistent)?;
    if record.is_empty() || zeros.iter().any(|byte| *byte != 0) {
        return Err(Inconsistent);
    }
    Ok(record)
}

/// Recovers blocks. One decoder serves all blocks of a session, and keeps its buffers.
pub struct Decoder {
    code: HighRateDecoder<BlockEngine>,
    symbol: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder. See [`Encoder::new`] about the first one of a process.
    pub fn new() -> Self {
        Self {
            code: HighRateDecoder::new(1, 1, 2, BlockEngine::new(), None).expect(SUPPORTED),
            symbol: Vec::new(),
        }
    }
}

/// The records and repair symbols of one block that a receiver has. Everything added must have been verified, because
/// one forged symbol would corrupt all recovered records.
///
/// It holds at most [`MAX_BLOCK_BYTES`], and nothing after its records were recovered.
pub struct Block {
    bytes: Vec<u8>,
    /// Ranges in `bytes` of the source records, followed by those of the repair symbols. Empty if not received.
    pieces: Vec<Range<usize>>,
    sources: usize,
    held_sources: usize,
    held_repairs: usize,
    /// Length of the repair symbols; 0 while there is none.
    symbol_len: usize,
    longest_record: usize,
    recovered: bool,
}

impl Block {
    /// A block of which nothing has arrived yet. `None` if no block can have so many source records and repair symbols.
    pub fn new(sources: usize, repairs: usize) -> Option<Self> {
        is_block(sources, repairs).then(|| Self {
            bytes: Vec::new(),
            pieces: vec![0..0; sources + repairs],
            sources,
            held_sources: 0,
            held_repairs: 0,
            symbol_len: 0,
            longest_record: 0,
            recovered: false,
        })
    }

    /// Adds source record `index`, complete and still sealed, after it was verified. One that is already there, or was
    /// recovered, is ignored.
    ///
    /// # Errors
    /// [`Inconsistent`] if the block has no such index, or if the record is empty, too long, or too long for the
    /// block's repair symbols.
    pub fn add_source(&mut self, index: usize, record: &[u8]) -> Result<(), Inconsistent> {
        let too_long = self.symbol_len != 0 && symbol_len(record.len()) > self.symbol_len;
        if index >= self.sources || !is_record(record.len()) || too_long {
            return Err(Inconsistent);
        }
        if !self.recovered && self.keep(index, record) {
            self.held_sources += 1;
            self.longest_record = self.longest_record.max(record.len());
        }
        Ok(())
    }

    /// Adds repair symbol `index` from a verified record. One that is already there, or no longer needed, is ignored.
    ///
    /// # Errors
    /// [`Inconsistent`] if the block has no such index, or if the symbol's length is odd, above [`MAX_SYMBOL`],
    /// different from that of the first symbol, or too short for the records that arrived.
    pub fn add_repair(&mut self, index: usize, symbol: &[u8]) -> Result<(), Inconsistent> {
        let length = symbol.len();
        let fits = length >= symbol_len(self.longest_record.max(1)) && length <= MAX_SYMBOL && length.is_multiple_of(2);
        let agrees = self.symbol_len == 0 || self.symbol_len == length;
        if index >= self.pieces.len() - self.sources || !fits || !agrees {
            return Err(Inconsistent);
        }
        self.symbol_len = length;
        if self.held() < self.sources && !self.recovered && self.keep(self.sources + index, symbol) {
            self.held_repairs += 1;
        }
        Ok(())
    }

    /// Number of source records that neither arrived nor were recovered.
    pub fn missing(&self) -> usize {
        match self.recovered {
            true => 0,
            false => self.sources - self.held_sources,
        }
    }

    /// True if something is missing and enough has arrived to recover it.
    pub fn recoverable(&self) -> bool {
        self.missing() > 0 && self.held() >= self.sources
    }

    /// Number of records or symbols that must still arrive before the block can be recovered.
    pub fn lacks(&self) -> usize {
        match self.recovered {
            true => 0,
            false => self.sources.saturating_sub(self.held()),
        }
    }

    /// Bytes allocated for its content; at most [`MAX_BLOCK_BYTES`].
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Recovers the missing source records and returns them with their indices. Returns none unless the block is
    /// [recoverable](Self::recoverable). They are sealed like any that arrived, and must be opened like them.
    ///
    /// # Errors
    /// [`Inconsistent`] if the result does not have the form of records: the peer's symbols do not belong to its
    /// records.
    pub fn recover(&mut self, decoder: &mut Decoder) -> Result<Vec<(usize, Vec<u8>)>, Inconsistent> {
        if !self.recoverable() {
            return Ok(Vec::new());
        }
        let repairs = self.pieces.len() - self.sources;
        let code = &mut decoder.code;
        code.reset(self.sources, repairs, self.symbol_len).expect(SUPPORTED);
        let held = |piece: &Range<usize>| self.bytes.get(piece.clone()).filter(|bytes| !bytes.is_empty());
        let (sources, repairs) = self.pieces.split_at(self.sources);
        for (index, piece) in sources.iter().enumerate() {
            if let Some(record) = held(piece) {
                let symbol = source_symbol(&mut decoder.symbol, record, self.symbol_len);
                code.add_original_shard(index, symbol).expect(SUPPORTED);
            }
        }
        for (index, piece) in repairs.iter().enumerate() {
            if let Some(symbol) = held(piece) {
                code.add_recovery_shard(index, symbol).expect(SUPPORTED);
            }
        }
        let restored = code.decode().expect("as many symbols as sources");
        let records = restored
            .restored_original_iter()
            .map(|(index, symbol)| Ok((index, source_record(symbol)?.to_vec())))
            .collect();
        self.recovered = true;
        self.bytes = Vec::new();
        records
    }

    fn held(&self) -> usize {
        self.held_sources + self.held_repairs
    }

    /// Stores a piece that is not there yet. Reserves room for as many pieces as can still be useful, so that one
    /// allocation is mostly enough for a block.
    fn keep(&mut self, piece: usize, bytes: &[u8]) -> bool {
        let wanted = self.sources.saturating_sub(self.held()).max(1);
        let place = &mut self.pieces[piece];
        if !Range::is_empty(place) {
            return false;
        }
        let at = self.bytes.len();
        if self.bytes.capacity() - at < bytes.len() {
            // A repair symbol is slightly longer than the records.
            let each = (bytes.len() + LENGTH + 1).min(MAX_SYMBOL);
            self.bytes.reserve_exact(each * wanted);
        }
        self.bytes.extend_from_slice(bytes);
        *place = at..self.bytes.len();
        true
    }
}

#[cfg(test)]
#[path = "fec_tests.rs"]
mod tests;
