//! Turns frames into blocks of sealed records and repair symbols.

use super::outbound::{Outbound, Run, SentBlock};
use crate::clock::Now;
use crate::repair::{Encoder, MAX_SOURCES, PathLoss, max_repairs};
use crate::seal::{Exhausted, RecordMeta, Sealer};
use crate::session::SealedRecords;
use crate::session::delivery::Fec;
use crate::unit::{PREAMBLE_LEN, Piece, UNIT_HEADER_LEN, Unit, UnitHeader};
use crate::wire::{CONNECTION_LEN, Flags, HEADER_LEN, TAG_LEN};

/// Maximum number of bytes by which a repair record is longer than the source records of its block. Its symbol contains
/// a whole sealed record (header, unit header and tag), a length field of 2 bytes, and 1 byte that may be needed to
/// make its length even.
const SYMBOL_EXTRA: usize = HEADER_LEN + UNIT_HEADER_LEN + TAG_LEN + 3;

/// The properties that all records of one frame share.
#[derive(Clone, Copy)]
pub(in crate::session) struct Sealing<'a> {
    pub(in crate::session) stream: u32,
    pub(in crate::session) keyframe: bool,
    pub(in crate::session) config: bool,
    /// True if the selection in force leaves something in clear.
    pub(in crate::session) may_be_clear: bool,
    /// Bytes before the first piece.
    pub(in crate::session) preamble: &'a [u8],
    /// Length of the frame in bytes, preamble included.
    pub(in crate::session) bytes: usize,
    /// Bytes of the frame in every record but the last, preamble included.
    pub(in crate::session) unit: usize,
}

impl Outbound {
    /// Bytes of a frame in each record but the last, for a frame of `total` bytes.
    pub(in crate::session) fn unit(&self, total: usize, unit: Unit) -> usize {
        let prefix = self.connection.map_or(0, |_| CONNECTION_LEN);
        let repair = if self.delivery.fec == Fec::Off { 0 } else { SYMBOL_EXTRA };
        let most = self.limit - prefix - HEADER_LEN - UNIT_HEADER_LEN - TAG_LEN - repair;
        match unit {
            Unit::Chunk(bytes) => usize::from(bytes).min(most),
            // Full packets fill cells, and the last one shares its cell.
            Unit::Frame | Unit::Packet if self.in_cells => most,
            // Equal shares, so that the packets of a frame leave as one run.
            Unit::Frame | Unit::Packet => total
                .div_ceil(total.div_ceil(most).max(1))
                .max(PREAMBLE_LEN + 1)
                .min(most),
        }
    }

    /// Seal a frame, or a description, into blocks.
    pub(in crate::session) fn push<'a>(
        &mut self,
        now: Now,
        sealer: &mut Sealer,
        frame: &Sealing<'_>,
        pieces: &mut dyn Iterator<Item = Piece<'a>>,
    ) -> Result<SealedRecords, Exhausted> {
        let records = frame.bytes.div_ceil(frame.unit).max(1);
        let blocks = records.div_ceil(MAX_SOURCES);
        let each = records.div_ceil(blocks);
        let mut sealed = SealedRecords::default();
        let mut from = 0;
        while from < records {
            let count = each.min(records - from);
            sealed += self.push_block(now, sealer, frame, count, pieces)?;
            from += count;
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
        let repairs = self.repairs(count);
        let mut sources = self.run();
        let mut in_clear = 0;
        let meta = |flags| RecordMeta {
            flags,
            stream: frame.stream,
            timestamp: now.wall,
        };
        for (index, piece) in pieces.take(count).enumerate() {
            let header = UnitHeader {
                number: (self.next + index as u64) as u32,
                index: index as u16,
                sources: count as u16,
                repairs: repairs as u16,
            };
            let mut flags = if frame.config {
                Flags::CONFIG
            } else {
                Flags::frame(frame.keyframe, piece.first, piece.last)
            };
            if !piece.encrypt && frame.may_be_clear {
                flags = flags.in_clear();
                in_clear += 1;
            }
            let preamble = if piece.first { frame.preamble } else { &[] };
            self.prefix(&mut sources.bytes);
            let header = header.to_bytes();
            let parts: &[&[u8]] = &[&header, preamble, piece.data];
            if piece.zeros > 0 {
                sealer.seal(meta(flags), &piece.parts(&parts[..2]), &mut sources.bytes)?;
            } else {
                sealer.seal(meta(flags), parts, &mut sources.bytes)?;
            }
            if index == 0 {
                sources.size = sources.bytes.len();
            }
        }
        sources.count = count;
        let mut symbols = Run::default();
        if repairs > 0 {
            symbols = self.run();
            self.seal_symbols(sealer, meta(Flags::REPAIR), &sources, repairs, &mut symbols)?;
        }
        let bytes = sources.bytes.len() + symbols.bytes.len();
        self.kept_bytes += bytes;
        self.backlog += bytes;
        self.blocks.push_back(SentBlock {
            first: self.next,
            sources,
            repairs: symbols,
            sent: 0,
            sealed_at: now.monotonic,
            arrived: false,
        });
        self.next += (count + repairs) as u64;
        Ok(SealedRecords {
            records: (count + repairs) as u64,
            in_clear,
        })
    }

    fn seal_symbols(
        &mut self,
        sealer: &mut Sealer,
        meta: RecordMeta,
        sources: &Run,
        repairs: usize,
        out: &mut Run,
    ) -> Result<(), Exhausted> {
        let (connection, first) = (self.connection, self.next + sources.count as u64);
        let prefix = connection.map_or(0, |_| CONNECTION_LEN);
        let records = sources.bytes.chunks(sources.size).map(|datagram| &datagram[prefix..]);
        let mut sealed = Ok(());
        let mut seal = |index: usize, symbol: &[u8]| {
            let header = UnitHeader {
                number: (first + index as u64) as u32,
                index: index as u16,
                sources: sources.count as u16,
                repairs: repairs as u16,
            };
            if let Some(connection) = connection {
                out.bytes.extend_from_slice(&connection.to_be_bytes());
            }
            if sealed.is_ok() {
                sealed = sealer.seal(meta, &[&header.to_bytes(), symbol], &mut out.bytes);
            }
            if index == 0 {
                out.size = out.bytes.len();
            }
        };
        let encoder = self.encoder.get_or_insert_with(|| Box::new(Encoder::new()));
        encoder
            .encode(records, repairs, &mut seal)
            .expect("blocks are cut within the code's limits");
        out.count = repairs;
        sealed
    }

    /// Number of repair symbols for a block.
    fn repairs(&mut self, sources: usize) -> usize {
        match self.delivery.fec {
            Fec::Off => 0,
            Fec::Fixed(percent) => (sources * usize::from(percent)).div_ceil(100).min(max_repairs(sources)),
            Fec::Adaptive => {
                let path = PathLoss {
                    loss: self.rate.loss(),
                    mean_burst: self.rate.mean_burst(),
                    rounds: if self.delivery.nack { self.path.rounds() } else { 0 },
                };
                self.policy.repairs(sources, &path)
            }
        }
    }
}
