//! Seals a block: records that carry a part of a frame, and the symbols that repair them. A session and a group do it
//! alike.

use crate::clock::Now;
use crate::repair::{Encoder, MAX_SOURCES};
use crate::seal::{Exhausted, RecordMeta, Sealer};
use crate::unit::{PREAMBLE_LEN, Piece, UNIT_HEADER_LEN, Unit, UnitHeader};
use crate::wire::{CONNECTION_LEN, Flags, HEADER_LEN, LENGTH_PREFIX, TAG_LEN};

/// Maximum number of bytes by which a repair record is longer than the source records of its block. Its symbol contains
/// a whole sealed record (header, unit header and tag), a length field of 2 bytes, and 1 byte that may be needed to
/// make its length even.
const SYMBOL_EXTRA: usize = HEADER_LEN + UNIT_HEADER_LEN + TAG_LEN + 3;

/// The shortest chunk where media may be lost: the first chunk must hold the preamble.
const MIN_CHUNK: u16 = 64;

/// Content of records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Frame,
    /// A stream's description.
    Config,
    /// The proof of a frame of a group.
    Proof,
}

/// The properties that all records of one frame share.
#[derive(Clone, Copy)]
pub(crate) struct Sealing<'a> {
    pub(crate) stream: u32,
    pub(crate) keyframe: bool,
    pub(crate) content: Content,
    /// True if the selection in force leaves something in clear.
    pub(crate) may_be_clear: bool,
    /// Bytes before the first piece.
    pub(crate) preamble: &'a [u8],
    /// Length of the frame in bytes, preamble included.
    pub(crate) bytes: usize,
    /// Bytes of the frame in every record but the last, preamble included.
    pub(crate) unit: usize,
}

/// Bytes before each record.
#[derive(Clone, Copy)]
pub(crate) enum Prefix {
    Nothing,
    Connection(u32),
    Length,
}

impl Prefix {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Connection(_) => CONNECTION_LEN,
            Self::Length => LENGTH_PREFIX,
        }
    }

    fn seal(self, sealer: &mut Sealer, meta: RecordMeta, parts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Exhausted> {
        match self {
            Self::Length => return sealer.seal_framed(meta, parts, out),
            Self::Connection(connection) => out.extend_from_slice(&connection.to_be_bytes()),
            Self::Nothing => {}
        }
        sealer.seal(meta, parts, out)
    }
}

/// The unit on a carrier that may lose media. A record there holds a whole frame or one packet's worth of it, and a
/// frame that is a unit is encrypted as a whole or not at all.
pub(crate) fn packet_unit(asked: Unit) -> Unit {
    match asked {
        Unit::Frame | Unit::Packet => Unit::Packet,
        Unit::Chunk(bytes) => Unit::Chunk(bytes.max(MIN_CHUNK)),
    }
}

/// Division of a frame among records that fit packets.
#[derive(Clone, Copy)]
pub(crate) struct Packing {
    unit: Unit,
    /// Bytes of a frame that fit a record.
    most: usize,
    /// True if all records but the last are as long as can be.
    full: bool,
}

impl Packing {
    /// Packets have `room` bytes for a record; with `repair`, repair records must fit as well.
    pub(crate) fn new(unit: Unit, room: usize, repair: bool, full: bool) -> Self {
        let extra = if repair { SYMBOL_EXTRA } else { 0 };
        let most = room - HEADER_LEN - UNIT_HEADER_LEN - TAG_LEN - extra;
        Self { unit, most, full }
    }

    /// Bytes in each record but the last, of a frame of `total` bytes.
    pub(crate) fn share(self, total: usize) -> usize {
        match self.unit {
            Unit::Chunk(bytes) => usize::from(bytes).min(self.most),
            Unit::Frame | Unit::Packet if self.full => self.most,
            // Equal shares, so that the packets of a frame leave as one run.
            Unit::Frame | Unit::Packet => total
                .div_ceil(total.div_ceil(self.most).max(1))
                .max(PREAMBLE_LEN + 1)
                .min(self.most),
        }
    }

    pub(crate) fn unit(self) -> Unit {
        self.unit
    }
}

/// The place of a block among the records of its stream.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The number of its first record.
    pub(crate) first: u64,
    pub(crate) sources: usize,
    pub(crate) repairs: usize,
}

impl Place {
    /// Number of its records.
    pub(crate) fn len(self) -> usize {
        self.sources + self.repairs
    }
}

/// Number of bytes that were sealed, prefixes included.
pub(crate) struct Sizes {
    /// Length of all source records but the last.
    pub(crate) source: usize,
    /// Length of each repair record.
    pub(crate) repair: usize,
    /// Source records with their payload in clear.
    pub(crate) in_clear: u64,
}

/// The number of source records in each block of a frame.
pub(crate) fn blocks_of(frame: &Sealing<'_>) -> impl Iterator<Item = usize> + use<> {
    let records = frame.bytes.div_ceil(frame.unit).max(1);
    let each = records.div_ceil(records.div_ceil(MAX_SOURCES));
    (0..records).step_by(each).map(move |from| each.min(records - from))
}

/// Seals blocks.
pub(crate) struct BlockSealer<'s> {
    pub(crate) sources: &'s mut Sealer,
    /// The sealer of repair records, where they have a key of their own: in a group.
    pub(crate) repairs: Option<&'s mut Sealer>,
    /// Built when the first symbol is needed, since its tables take milliseconds.
    pub(crate) encoder: &'s mut Option<Box<Encoder>>,
    pub(crate) prefix: Prefix,
}

impl BlockSealer<'_> {
    /// Seals a block of the next pieces of a frame. Its source records are appended to `out`, its repair records to
    /// `symbols`.
    pub(crate) fn seal<'a>(
        &mut self,
        now: Now,
        frame: &Sealing<'_>,
        place: Place,
        pieces: &mut dyn Iterator<Item = Piece<'a>>,
        (out, symbols): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<Sizes, Exhausted> {
        let from = out.len();
        let mut sizes = Sizes {
            source: 0,
            repair: 0,
            in_clear: 0,
        };
        for (index, piece) in pieces.take(place.sources).enumerate() {
            let mut flags = match frame.content {
                Content::Frame => Flags::frame(frame.keyframe, piece.first, piece.last),
                Content::Config => Flags::CONFIG,
                Content::Proof => Flags::signed(frame.keyframe),
            };
            if !piece.encrypt && frame.may_be_clear {
                flags = flags.in_clear();
                sizes.in_clear += 1;
            }
            let preamble = if piece.first { frame.preamble } else { &[] };
            let header = place.header(index, false).to_bytes();
            let parts: &[&[u8]] = &[&header, preamble, piece.data];
            let meta = self.meta(now, frame.stream, flags);
            if piece.zeros > 0 {
                self.prefix.seal(self.sources, meta, &piece.parts(&parts[..2]), out)?;
            } else {
                self.prefix.seal(self.sources, meta, parts, out)?;
            }
            if index == 0 {
                sizes.source = out.len() - from;
            }
        }
        if place.repairs > 0 {
            let prefix = self.prefix.len();
            let records = out[from..].chunks(sizes.source).map(|record| &record[prefix..]);
            let meta = self.meta(now, frame.stream, Flags::REPAIR);
            sizes.repair = self.seal_symbols(meta, records, place, symbols)?;
        }
        Ok(sizes)
    }

    fn meta(&self, now: Now, stream: u32, flags: Flags) -> RecordMeta {
        let of_group = self.repairs.is_some();
        RecordMeta {
            flags: if of_group { flags.with_unit() } else { flags },
            stream,
            timestamp: now.wall,
        }
    }

    /// Returns the length of a repair record.
    fn seal_symbols<'r>(
        &mut self,
        meta: RecordMeta,
        records: impl ExactSizeIterator<Item = &'r [u8]> + Clone,
        place: Place,
        out: &mut Vec<u8>,
    ) -> Result<usize, Exhausted> {
        let (from, prefix) = (out.len(), self.prefix);
        let sealer = match &mut self.repairs {
            Some(repairs) => repairs,
            None => &mut *self.sources,
        };
        let (mut sealed, mut size) = (Ok(()), 0);
        let mut seal = |index: usize, symbol: &[u8]| {
            if sealed.is_ok() {
                let header = place.header(index, true).to_bytes();
                sealed = prefix.seal(sealer, meta, &[&header, symbol], out);
            }
            if index == 0 {
                size = out.len() - from;
            }
        };
        let encoder = self.encoder.get_or_insert_with(|| Box::new(Encoder::new()));
        encoder
            .encode(records, place.repairs, &mut seal)
            .expect("blocks are cut within the code's limits");
        sealed.map(|()| size)
    }
}

impl Place {
    fn header(self, index: usize, repair: bool) -> UnitHeader {
        let before = if repair { self.sources } else { 0 };
        UnitHeader {
            number: (self.first + (before + index) as u64) as u32,
            index: index as u16,
            sources: self.sources as u16,
            repairs: self.repairs as u16,
        }
    }
}
