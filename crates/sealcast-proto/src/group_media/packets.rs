//! Frames of a group in records that fit packets, for members on carriers that may lose media (groups.md §11).

use std::ops::Range;

use crate::clock::Now;
use crate::repair::{Encoder, RepairPolicy};
use crate::seal::{Exhausted, Sealer};
use crate::session::{
    BlockSealer, Content, OutgoingUnit, Packing, Place, Prefix, RepairNeed, SealedRecords, Sealing, blocks_of,
    pack_whole,
};
use crate::sign::FrameHasher;
use crate::unit::{Cutter, Piece, Selection, Unit};
use crate::wire::{CONNECTION_LEN, LENGTH_PREFIX, MAX_GROUP_RECORD};

/// A block of records as they were sealed, and the symbols that repair them.
pub struct SealedBlock {
    /// The number of its first record.
    pub(crate) first: u64,
    /// Its source records, each behind its length, in the bytes of its frame.
    pub(crate) sources: Range<usize>,
    /// Length of all of them but the last, with the length before it.
    pub(crate) size: usize,
    pub(crate) count: usize,
    /// Its repair records, equally long, each behind its length.
    pub(crate) repairs: Vec<u8>,
    pub(crate) repair_size: usize,
    pub(crate) repair_count: usize,
}

impl SealedBlock {
    /// Its records as datagrams that begin with `tag`, in two runs: source and repair records.
    pub(super) fn datagrams(&self, frame: &[u8], tag: u32) -> [DatagramRun; 2] {
        [
            DatagramRun::of(&frame[self.sources.clone()], self.size, tag),
            DatagramRun::of(&self.repairs, self.repair_size, tag),
        ]
    }
}

/// Datagrams back to back: each `size` bytes long, the last perhaps shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramRun {
    /// The datagrams.
    pub bytes: Vec<u8>,
    /// Length of all but the last, at least 1.
    pub size: usize,
}

impl DatagramRun {
    /// Records of `size` bytes, each behind its length, as datagrams that begin with `tag`.
    fn of(records: &[u8], size: usize, tag: u32) -> Self {
        let mut bytes = Vec::with_capacity(records.len() + records.len() / size.max(1) * CONNECTION_LEN);
        for record in records.chunks(size.max(1)) {
            bytes.extend_from_slice(&tag.to_be_bytes());
            bytes.extend_from_slice(&record[LENGTH_PREFIX..]);
        }
        let size = CONNECTION_LEN + size.saturating_sub(LENGTH_PREFIX);
        Self { bytes, size }
    }
}

/// Cuts frames into blocks and seals them.
pub(super) struct Packets {
    packing: Packing,
    /// That of the worst path.
    pub(super) need: RepairNeed,
    policy: RepairPolicy,
    /// Number of the next record.
    next: u64,
    encoder: Option<Box<Encoder>>,
}

/// Keys for a frame, and destination of its records.
pub(super) struct Target<'a> {
    pub(super) now: Now,
    /// Sealers of the source records of its stream, and of the repair records.
    pub(super) sealers: (&'a mut Sealer, &'a mut Sealer),
    /// The parts that are encrypted.
    pub(super) selection: Selection,
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) blocks: &'a mut Vec<SealedBlock>,
    /// Hashes the records, where frames are signed.
    pub(super) hasher: Option<&'a mut FrameHasher>,
}

impl Packets {
    pub(super) fn new(unit: Unit) -> Self {
        Self {
            packing: Packing::new(crate::session::packet_unit(unit), MAX_GROUP_RECORD, true, false),
            need: RepairNeed::NONE,
            policy: RepairPolicy::default(),
            next: 0,
            encoder: None,
        }
    }

    /// Seals a frame.
    pub(super) fn seal(
        &mut self,
        into: &mut Target<'_>,
        cutter: &mut Cutter,
        unit: &OutgoingUnit<'_>,
    ) -> Result<SealedRecords, Exhausted> {
        let (packing, selection) = (self.packing, into.selection);
        unit.pack(packing, cutter, selection, &mut |frame, pieces| {
            self.push(into, frame, pieces)
        })
    }

    /// Seals what is no frame: a description, or a proof.
    pub(super) fn seal_whole(
        &mut self,
        into: &mut Target<'_>,
        content: Content,
        of: (u32, bool),
        data: &[u8],
    ) -> Result<SealedRecords, Exhausted> {
        let packing = Packing::new(Unit::Packet, MAX_GROUP_RECORD, true, false);
        let (mut sealing, pieces) = pack_whole(content, of, data, packing);
        sealing.may_be_clear = into.selection != Selection::All;
        let encrypt = content != Content::Config || into.selection.encrypts_description();
        let mut pieces = pieces.map(|piece| Piece { encrypt, ..piece });
        self.push(into, &sealing, &mut pieces)
    }

    fn push<'p>(
        &mut self,
        into: &mut Target<'_>,
        frame: &Sealing<'_>,
        pieces: &mut dyn Iterator<Item = Piece<'p>>,
    ) -> Result<SealedRecords, Exhausted> {
        let mut sealed = SealedRecords::default();
        for sources in blocks_of(frame) {
            let RepairNeed { fec, path, .. } = self.need;
            let place = Place {
                first: self.next,
                sources,
                repairs: fec.repairs(sources, &path, &mut self.policy),
            };
            let mut sealer = BlockSealer {
                sources: into.sealers.0,
                repairs: Some(into.sealers.1),
                encoder: &mut self.encoder,
                prefix: Prefix::Length,
            };
            let (from, mut repairs) = (into.bytes.len(), Vec::new());
            let sizes = sealer.seal(into.now, frame, place, pieces, (into.bytes, &mut repairs))?;
            if let Some(hasher) = &mut into.hasher {
                let sealed = into.bytes[from..].chunks(sizes.source);
                sealed.for_each(|record| hasher.push(&record[LENGTH_PREFIX..]));
            }
            into.blocks.push(SealedBlock {
                first: place.first,
                sources: from..into.bytes.len(),
                size: sizes.source,
                count: place.sources,
                repairs,
                repair_size: sizes.repair,
                repair_count: place.repairs,
            });
            self.next += place.len() as u64;
            sealed += SealedRecords {
                records: place.len() as u64,
                in_clear: sizes.in_clear,
            };
        }
        Ok(sealed)
    }
}
