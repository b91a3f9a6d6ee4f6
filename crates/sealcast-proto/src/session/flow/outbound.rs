//! The publisher's half: frames become blocks of sealed records, which leave at the pacer's rate and are kept for as
//! long as the viewer may ask for them.

use std::collections::VecDeque;
use std::time::Duration;

use super::Path;
use super::pacer::Pacer;
use super::unwrap_number;
use crate::clock::Now;
use crate::rate::{RateController, Report};
use crate::repair::{Encoder, MAX_SOURCES, PathLoss, RepairPolicy, max_repairs};
use crate::seal::{Exhausted, RecordMeta, Sealer};
use crate::session::SealedRecords;
use crate::session::delivery::{Delivery, Fec, Mtu};
use crate::unit::{PREAMBLE_LEN, Piece, UNIT_HEADER_LEN, Unit, UnitHeader};
use crate::wire::{BASE_DATAGRAM, CONNECTION_LEN, Feedback, Flags, HEADER_LEN, MAX_DATAGRAM, Numbers, TAG_LEN};

/// Most bytes kept for sending again.
const MAX_HISTORY: usize = 16 << 20;
/// The longest time something is kept for sending again.
const MAX_KEPT: Duration = Duration::from_secs(4);
/// Most records waiting to be sent again: what a viewer can make us send beyond the stream itself is bounded by this
/// and by the pacer.
const MAX_RESENDS: usize = 1024;
/// Buffers of old blocks kept for new ones.
const MAX_SPARE: usize = 8;
/// Most packets handed out at once.
const MAX_RUN: usize = 64;
/// The same where a congestion window holds.
const MAX_RUN_IN_WINDOW: usize = 16;
/// What a repair record has beyond a source record: its symbol's length field, and one byte to make it even.
const SYMBOL_EXTRA: usize = HEADER_LEN + UNIT_HEADER_LEN + TAG_LEN + 3;

/// Datagrams to send, back to back in one buffer: each `size` bytes long, the last perhaps shorter.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// The datagrams.
    pub bytes: &'a [u8],
    /// Length of all but the last.
    pub size: usize,
}

/// What left, for the meters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboundCounts {
    /// Source records.
    pub sources: u64,
    /// Repair records.
    pub repairs: u64,
    /// Records sent again.
    pub resent: u64,
    /// Bytes of all of these.
    pub bytes: u64,
    /// Bytes of the frames that they carry, preambles included.
    pub media_bytes: u64,
}

/// What is the same for all records of one frame.
#[derive(Clone, Copy)]
pub(in crate::session) struct Sealing<'a> {
    pub(in crate::session) stream: u32,
    pub(in crate::session) keyframe: bool,
    pub(in crate::session) config: bool,
    /// Whether a selection is in force that leaves something in clear.
    pub(in crate::session) may_be_clear: bool,
    /// Before the first piece.
    pub(in crate::session) preamble: &'a [u8],
    /// Bytes in all, the preamble among them.
    pub(in crate::session) bytes: usize,
    /// Bytes of every record but the last, the preamble among them.
    pub(in crate::session) unit: usize,
}

/// A block as it was sealed.
struct SentBlock {
    first: u64,
    sources: Run,
    repairs: Run,
    /// Packets that have left.
    sent: usize,
    sealed_at: Duration,
}

/// Datagrams of one length, the last perhaps shorter.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    size: usize,
    count: usize,
}

impl Run {
    fn packets(&self, from: usize, to: usize) -> Packets<'_> {
        let end = (to * self.size).min(self.bytes.len());
        Packets {
            bytes: &self.bytes[from * self.size..end],
            size: self.size,
        }
    }
}

/// Whether the source records of a block are among those that a report says have come.
fn came(block: &SentBlock, report: &Report<'_>) -> bool {
    let end = block.first + block.sources.count as u64;
    (block.first..end).all(|number| {
        let Some(at) = (report.highest).checked_sub(number + 1) else {
            return number == report.highest;
        };
        let byte = usize::try_from(at / 8).ok().and_then(|at| report.received.get(at));
        byte.is_some_and(|byte| byte & (1 << (at % 8)) != 0)
    })
}

/// What was handed out and has not been reported as sent.
#[derive(Clone, Copy)]
enum Polled {
    Again(u64),
    Fresh { from: usize, to: usize },
}

pub(in crate::session) struct Outbound {
    connection: Option<u32>,
    limit: usize,
    delivery: Delivery,
    next: u64,
    blocks: VecDeque<SentBlock>,
    /// How many of `blocks` have left whole.
    done: usize,
    kept_bytes: usize,
    backlog: usize,
    /// Bytes of frames that the program holds until what was sealed has left.
    waiting: usize,
    again: VecDeque<u64>,
    polled: Option<Polled>,
    spare: Vec<Vec<u8>>,
    pacer: Pacer,
    rate: RateController,
    /// Made when the first frame wants it: its tables take milliseconds.
    encoder: Option<Box<Encoder>>,
    policy: RepairPolicy,
    path: Path,
    /// When media last left, and whether the viewer has told that all of it came.
    last_sent: Duration,
    all_came: bool,
    counts: OutboundCounts,
}

impl Outbound {
    /// `limit` is the longest datagram where nothing else is known; `connection` stands before each.
    pub(in crate::session) fn new(connection: Option<u32>, limit: usize, delivery: Delivery, now: Duration) -> Self {
        let limit = match delivery.mtu {
            Mtu::Discover => limit,
            Mtu::Fixed(bytes) => bytes.clamp(BASE_DATAGRAM, MAX_DATAGRAM),
        };
        Self {
            connection,
            limit,
            delivery,
            next: 0,
            blocks: VecDeque::new(),
            done: 0,
            kept_bytes: 0,
            backlog: 0,
            waiting: 0,
            again: VecDeque::new(),
            polled: None,
            spare: Vec::new(),
            pacer: Pacer::new(now),
            rate: RateController::new(delivery.rate.unwrap_or_default()),
            encoder: None,
            policy: RepairPolicy::default(),
            path: Path {
                budget: delivery.budget,
                round_trip: None,
            },
            last_sent: now,
            all_came: true,
            counts: OutboundCounts::default(),
        }
    }

    pub(in crate::session) fn counts(&self) -> OutboundCounts {
        self.counts
    }

    /// Bytes sealed that have not left.
    pub(in crate::session) fn backlog(&self) -> usize {
        self.backlog
    }

    /// So many bytes of frames wait to be sealed: the pacer makes haste for them, too, where the window allows it.
    pub(in crate::session) fn waits(&mut self, bytes: usize) {
        self.waiting = bytes;
        self.rate.queued(self.backlog.saturating_add(bytes));
    }

    /// Bytes of a frame of `total` bytes in one record.
    pub(in crate::session) fn unit(&self, total: usize, unit: Unit) -> usize {
        let prefix = self.connection.map_or(0, |_| CONNECTION_LEN);
        let repair = if self.delivery.fec == Fec::Off { 0 } else { SYMBOL_EXTRA };
        let most = self.limit - prefix - HEADER_LEN - UNIT_HEADER_LEN - TAG_LEN - repair;
        match unit {
            Unit::Chunk(bytes) => usize::from(bytes).min(most),
            // Equal shares: the packets of a frame leave as one run.
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
            sealer.seal(
                meta(flags),
                &[&header.to_bytes(), preamble, piece.data],
                &mut sources.bytes,
            )?;
            if index == 0 {
                sources.size = sources.bytes.len();
            }
        }
        sources.count = count;
        let mut symbols = self.run();
        if repairs > 0 {
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

    /// How many repair symbols a block gets.
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

    /// The viewer tells what has come.
    pub(in crate::session) fn feedback(
        &mut self,
        now: Duration,
        feedback: &Feedback<'_>,
        round_trip: Option<Duration>,
    ) {
        self.path = Path {
            budget: Duration::from_millis(u64::from(feedback.budget)),
            round_trip,
        };
        let report = Report {
            highest: unwrap_number(feedback.highest, self.next),
            arrived_ns: feedback.arrived,
            received: feedback.received,
        };
        if report.highest < self.next {
            self.rate.feedback(now, &report);
            self.all_came = report.highest + 1 == self.next && self.blocks.iter().all(|block| came(block, &report));
        }
    }

    /// Whether all that was sealed has arrived, or can no longer be asked for.
    pub(in crate::session) fn settled(&self, now: Duration) -> bool {
        let quiet = self.backlog == 0 && self.again.is_empty();
        quiet && (self.all_came || now >= self.last_sent + self.path.kept())
    }

    /// What the encoder should make, bit/s, where the path is estimated.
    pub(in crate::session) fn target(&self) -> Option<u64> {
        self.delivery.rate.map(|_| self.rate.target())
    }

    /// Share of packets lost, smoothed, and how many in a row.
    pub(in crate::session) fn loss(&self) -> (f64, f64) {
        (self.rate.loss(), self.rate.mean_burst())
    }

    fn run(&mut self) -> Run {
        Run {
            bytes: self.spare.pop().unwrap_or_default(),
            size: 0,
            count: 0,
        }
    }

    fn prefix(&self, out: &mut Vec<u8>) {
        if let Some(connection) = self.connection {
            out.extend_from_slice(&connection.to_be_bytes());
        }
    }

    /// The rate at which packets leave, or `None` for as fast as they can.
    fn pace(&self) -> Option<u64> {
        let paced = self.delivery.rate.is_some() && self.delivery.pace;
        paced.then(|| self.rate.pacing())
    }

    /// The next datagrams to send, if any may leave now. [`sent`](Self::sent) says that they were.
    pub(in crate::session) fn poll(&mut self, now: Duration) -> Option<Packets<'_>> {
        self.polled = None;
        let allowance = match self.pace() {
            Some(rate) => self.pacer.allowance(now, rate),
            None => u64::MAX,
        };
        if allowance == 0 || (self.delivery.rate.is_some() && !self.rate.may_send(self.limit)) {
            return None;
        }
        while let Some(&number) = self.again.front() {
            if let Some((block, index)) = self.find(number) {
                self.polled = Some(Polled::Again(number));
                return Some(self.blocks[block].sources.packets(index, index + 1));
            }
            self.again.pop_front();
        }
        let block = self.blocks.get(self.done)?;
        let (run, from) = if block.sent < block.sources.count {
            (&block.sources, block.sent)
        } else {
            (&block.repairs, block.sent - block.sources.count)
        };
        let fit = usize::try_from(allowance / run.size.max(1) as u64).unwrap_or(usize::MAX);
        // The window is asked before every run: a short one goes little beyond it.
        let fit = fit.clamp(
            1,
            if self.delivery.rate.is_some() {
                MAX_RUN_IN_WINDOW
            } else {
                MAX_RUN
            },
        );
        let to = run.count.min(from.saturating_add(fit));
        self.polled = Some(Polled::Fresh { from, to });
        Some(run.packets(from, to))
    }

    /// The datagrams that were handed out last have left.
    pub(in crate::session) fn sent(&mut self, now: Duration) {
        let bytes = match self.polled.take() {
            None => return,
            Some(Polled::Again(number)) => {
                self.again.pop_front();
                self.counts.resent += 1;
                let bytes = self.find(number).map_or(0, |(block, index)| {
                    self.blocks[block].sources.packets(index, index + 1).bytes.len()
                });
                self.rate.resent(now, bytes);
                bytes
            }
            Some(Polled::Fresh { from, to }) => {
                let Some(block) = self.blocks.get_mut(self.done) else {
                    return;
                };
                let source = block.sent < block.sources.count;
                let run = if source { &block.sources } else { &block.repairs };
                let packets = run.packets(from, to);
                for (number, packet) in (block.first + block.sent as u64..).zip(packets.bytes.chunks(packets.size)) {
                    self.rate.sent(now, number, packet.len());
                }
                let bytes = packets.bytes.len();
                block.sent += to - from;
                if source {
                    self.counts.sources += (to - from) as u64;
                } else {
                    self.counts.repairs += (to - from) as u64;
                }
                if block.sent == block.sources.count + block.repairs.count {
                    self.done += 1;
                }
                self.backlog -= bytes;
                bytes
            }
        };
        self.counts.bytes += bytes as u64;
        self.rate.queued(self.backlog + self.waiting);
        self.last_sent = now;
        self.all_came = false;
        self.pacer.sent(bytes);
        self.forget(now);
    }

    /// Forget what nobody may ask for any more.
    fn forget(&mut self, now: Duration) {
        let kept = self.path.kept().min(MAX_KEPT);
        while self.done > 0 {
            let Some(block) = self.blocks.front() else { return };
            let old = !self.delivery.nack || now >= block.sealed_at + kept;
            if !old && self.kept_bytes <= MAX_HISTORY {
                return;
            }
            if let Some(block) = self.blocks.pop_front() {
                self.done -= 1;
                for run in [block.sources, block.repairs] {
                    self.kept_bytes -= run.bytes.len();
                    self.keep_buffer(run.bytes);
                }
            }
        }
    }

    fn keep_buffer(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < MAX_SPARE && buffer.capacity() > 0 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// The block and index of a source record that has left and is still there.
    fn find(&self, number: u64) -> Option<(usize, usize)> {
        let after = self.blocks.partition_point(|block| block.first <= number);
        let at = after.checked_sub(1)?;
        let block = &self.blocks[at];
        let index = usize::try_from(number - block.first).ok()?;
        (index < block.sources.count.min(block.sent)).then_some((at, index))
    }

    /// The viewer asks for these.
    pub(in crate::session) fn asked(&mut self, numbers: Numbers<'_>) {
        if !self.delivery.nack {
            return;
        }
        for wire in numbers.iter() {
            if self.again.len() >= MAX_RESENDS {
                return;
            }
            let number = unwrap_number(wire, self.next);
            if self.find(number).is_some() {
                self.again.push_back(number);
            }
        }
    }

    /// Drop what has not left: the viewer is not there.
    pub(in crate::session) fn drop_unsent(&mut self) {
        self.again.clear();
        while self.blocks.len() > self.done {
            if let Some(block) = self.blocks.pop_back() {
                self.kept_bytes -= block.sources.bytes.len() + block.repairs.bytes.len();
            }
        }
        self.backlog = 0;
    }

    /// What time brings.
    pub(in crate::session) fn tick(&mut self, now: Duration) {
        self.rate.tick(now);
    }

    /// When packets may leave again; `Duration::MAX` if none wait.
    pub(in crate::session) fn deadline(&self) -> Duration {
        let silence = self.rate.deadline().unwrap_or(Duration::MAX);
        if self.backlog == 0 && self.again.is_empty() {
            return silence;
        }
        match self.pace() {
            Some(rate) if self.rate.may_send(self.limit) => self.pacer.next(rate).min(silence),
            // Whoever drained `poll` has them all, or the window is closed.
            _ => silence,
        }
    }
}
