//! Frames of a group in records that fit packets, for members on carriers that may lose media (groups.md §11).

use super::sealed_block::SealedBlock;
use crate::clock::Now;
use crate::repair::{Encoder, RepairPolicy};
use crate::seal::{Exhausted, RecordMeta, Sealer};
use crate::session::{
    BlockSealer, Content, OutgoingUnit, Packing, Place, Prefix, RepairNeed, SealedRecords, Sealing, blocks_of,
    pack_whole,
};
use crate::sign::FrameHasher;
use crate::unit::{Cutter, Piece, Selection, Unit};
use crate::wire::{Flags, LENGTH_PREFIX, MAX_GROUP_RECORD};

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

/// Description of a record that is sealed now.
pub(super) fn meta(now: Now, stream: u32, flags: Flags) -> RecordMeta {
    RecordMeta {
        flags,
        stream,
        timestamp: now.wall,
    }
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
