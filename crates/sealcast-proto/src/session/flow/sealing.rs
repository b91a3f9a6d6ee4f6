//! Turns frames into blocks of sealed records and repair symbols.

use super::block_sealer::{BlockSealer, Packing, Place, Prefix, Sealing, blocks_of};
use super::outbound::{Outbound, Run, SentBlock};
use std::time::Duration;

use crate::clock::Now;
use crate::group_media::SealedBlock;
use crate::repair::PathLoss;
use crate::seal::{Exhausted, Sealer};
use crate::session::SealedRecords;
use crate::session::delivery::Fec;
use crate::unit::{Piece, Unit};
use crate::wire::LENGTH_PREFIX;

/// Source records of the block by which paths are compared.
const TYPICAL_SOURCES: usize = 32;

/// Need of a viewer's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepairNeed {
    /// Method of repairing losses.
    pub fec: Fec,
    /// The losses.
    pub path: PathLoss,
    /// The number of repair symbols for a block of 32 records. The highest is the need of the worst path.
    pub symbols: usize,
}

impl RepairNeed {
    /// That of a path that loses nothing.
    pub(crate) const NONE: Self = Self {
        fec: Fec::Off,
        path: PathLoss {
            loss: 0.0,
            mean_burst: 0.0,
            rounds: 0,
        },
        symbols: 0,
    };
}

impl Outbound {
    /// Division of frames among packets.
    pub(in crate::session) fn packing(&self, unit: Unit) -> Packing {
        // Full packets fill cells, and the last one shares its cell.
        let full = self.in_cells;
        Packing::new(
            unit,
            self.limit - self.prefix().len(),
            self.delivery.fec != Fec::Off,
            full,
        )
    }

    pub(super) fn prefix(&self) -> Prefix {
        self.connection.map_or(Prefix::Nothing, Prefix::Connection)
    }

    /// Seal a frame, or a description, into blocks.
    pub(in crate::session) fn push<'a>(
        &mut self,
        now: Now,
        sealer: &mut Sealer,
        frame: &Sealing<'_>,
        pieces: &mut dyn Iterator<Item = Piece<'a>>,
    ) -> Result<SealedRecords, Exhausted> {
        let mut sealed = SealedRecords::default();
        for sources in blocks_of(frame) {
            sealed += self.push_block(now, sealer, frame, sources, pieces)?;
        }
        self.counts.media_bytes += frame.bytes as u64;
        self.rate.queued(self.backlog + self.waiting);
        Ok(sealed)
    }

    fn push_block<'a>(
        &mut self,
        now: Now,
        sealer: &mut Sealer,
        frame: &Sealing<'_>,
        count: usize,
        pieces: &mut dyn Iterator<Item = Piece<'a>>,
    ) -> Result<SealedRecords, Exhausted> {
        let place = Place {
            first: self.next,
            sources: count,
            repairs: self.repairs(count),
        };
        let prefix = self.prefix();
        let (mut sources, mut symbols) = (self.run(), self.run_of(place.repairs));
        let mut sealer = BlockSealer {
            sources: sealer,
            repairs: None,
            encoder: &mut self.encoder,
            prefix,
        };
        let into = (&mut sources.bytes, &mut symbols.bytes);
        let sizes = sealer.seal(now, frame, place, pieces, into)?;
        (sources.size, sources.count) = (sizes.source, place.sources);
        (symbols.size, symbols.count) = (sizes.repair, place.repairs);
        self.queue(SentBlock {
            first: place.first,
            sources,
            repairs: symbols,
            sent: 0,
            sealed_at: now.monotonic,
            arrived: false,
        });
        self.next += place.len() as u64;
        Ok(SealedRecords {
            records: place.len() as u64,
            in_clear: sizes.in_clear,
        })
    }

    /// Queue a frame that was sealed for a group: `bytes` with its `blocks`. Of the repair records this viewer gets as
    /// many as its path needs.
    pub(in crate::session) fn forward(&mut self, now: Duration, bytes: &[u8], blocks: &[SealedBlock]) {
        for block in blocks {
            if self.multicast && self.backlog == 0 {
                self.keep_multicast(now, bytes, block);
                continue;
            }
            let repairs = self.repairs(block.count).min(block.repair_count);
            let sources = self.copied(&bytes[block.sources.clone()], block.size, block.count);
            let symbols = &block.repairs[..repairs * block.repair_size];
            let repairs = self.copied(symbols, block.repair_size, repairs);
            let first = self.own_number(block.first);
            self.counts.media_bytes += sources.bytes.len() as u64;
            self.queue(SentBlock {
                first,
                sources,
                repairs,
                sent: 0,
                sealed_at: now,
                arrived: false,
            });
            self.next = first + (block.count + block.repair_count) as u64;
        }
        self.rate.queued(self.backlog + self.waiting);
    }

    /// Keep a block that the multicast group is sent whole: the viewer asks for what it misses, and reports what
    /// arrives as if it had been sent from here.
    fn keep_multicast(&mut self, now: Duration, bytes: &[u8], block: &SealedBlock) {
        let sources = self.copied(&bytes[block.sources.clone()], block.size, block.count);
        let first = self.own_number(block.first);
        let (size, repair_size) = (sources.size, block.repair_size.saturating_sub(LENGTH_PREFIX));
        let length = sources.bytes.len();
        self.counts.media_bytes += length as u64;
        self.kept_bytes += length;
        self.blocks.push_back(SentBlock {
            first,
            sent: sources.count,
            sources,
            repairs: Run::default(),
            sealed_at: now,
            arrived: false,
        });
        self.done += 1;
        self.next = first + (block.count + block.repair_count) as u64;
        self.rate.sent_run(now, first, length, size);
        if block.repair_count > 0 {
            let after = first + block.count as u64;
            self.rate
                .sent_run(now, after, block.repair_count * repair_size, repair_size);
        }
        self.note_left(now);
    }

    /// Datagrams of records that stand behind their lengths.
    fn copied(&mut self, records: &[u8], size: usize, count: usize) -> Run {
        let mut run = self.run_of(count);
        for record in records.chunks(size.max(1)) {
            if let Prefix::Connection(connection) = self.prefix() {
                run.bytes.extend_from_slice(&connection.to_be_bytes());
            }
            run.bytes.extend_from_slice(&record[LENGTH_PREFIX..]);
        }
        run.size = size.saturating_sub(LENGTH_PREFIX) + self.prefix().len();
        run.count = count;
        run
    }

    /// Number of repair symbols for a block.
    pub(super) fn repairs(&mut self, sources: usize) -> usize {
        let path = self.path_loss();
        self.delivery.fec.repairs(sources, &path, &mut self.policy)
    }

    /// Need of the path.
    pub(in crate::session) fn repair_need(&mut self) -> RepairNeed {
        RepairNeed {
            fec: self.delivery.fec,
            path: self.path_loss(),
            symbols: self.repairs(TYPICAL_SOURCES),
        }
    }

    /// Losses that the repair symbols must make up for.
    fn path_loss(&self) -> PathLoss {
        // One symbol that is sent to a multicast group serves all who miss anything, and each would ask alone.
        let asks = self.delivery.nack && !self.multicast;
        PathLoss {
            loss: self.rate.loss(),
            mean_burst: self.rate.mean_burst(),
            rounds: if asks { self.path.rounds() } else { 0 },
        }
    }
}
