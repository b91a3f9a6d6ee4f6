//! The publisher's half: frames become blocks of sealed records, which leave at the pacer's rate and are kept for as
//! long as the viewer may ask for them.

use std::collections::VecDeque;
use std::time::Duration;

use super::mtu::{BLACK_HOLE, MtuSearch};
use super::pacer::Pacer;
use super::tail_loss_probe::{MAX_TAIL, TAIL, TailLossProbe};
use super::{Path, unwrap_number};
use crate::clock::RoundTrip;
use crate::rate::{RateController, Report};
use crate::repair::{Encoder, RepairPolicy};
use crate::session::delivery::{Delivery, Mtu};
use crate::wire::{BASE_DATAGRAM, Feedback, MAX_DATAGRAM, Numbers};

/// Most bytes kept for sending again.
const MAX_HISTORY: usize = 16 << 20;
/// The longest time something is kept for sending again.
const MAX_KEPT: Duration = Duration::from_secs(4);
/// Most records waiting to be sent again. This and the pacer bound the traffic that a viewer can cause beyond the
/// stream itself.
const MAX_RESENDS: usize = 1024;
/// Buffers of old blocks kept for new ones: this many of any length, and more of those that hold a few datagrams.
const MAX_SPARE: usize = 8;
const MAX_SHORT_SPARE: usize = 64;
const SHORT: usize = 4 * 1024;
/// Datagrams to send, back to back in one buffer: each `size` bytes long, the last perhaps shorter.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// The datagrams.
    pub bytes: &'a [u8],
    /// Length of all but the last.
    pub size: usize,
}

/// Counters of what was sent, for the meters.
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

/// A block as it was sealed.
pub(super) struct SentBlock {
    pub(super) first: u64,
    pub(super) sources: Run,
    pub(super) repairs: Run,
    /// Packets that have left.
    pub(super) sent: usize,
    pub(super) sealed_at: Duration,
    /// The viewer has all of its source records, so its packets are no longer kept.
    pub(super) arrived: bool,
}

impl SentBlock {
    /// Packets in all.
    pub(super) fn len(&self) -> usize {
        self.sources.count + self.repairs.count
    }

    /// The run whose packets leave next, and how many of its packets have left.
    pub(super) fn next(&self) -> (&Run, usize) {
        match self.sent.checked_sub(self.sources.count) {
            None => (&self.sources, self.sent),
            Some(repairs) => (&self.repairs, repairs),
        }
    }
}

/// Datagrams of one length, the last perhaps shorter.
#[derive(Default)]
pub(super) struct Run {
    pub(super) bytes: Vec<u8>,
    pub(super) size: usize,
    pub(super) count: usize,
}

impl Run {
    pub(super) fn packets(&self, from: usize, to: usize) -> Packets<'_> {
        let end = (to * self.size).min(self.bytes.len());
        Packets {
            bytes: &self.bytes[from * self.size..end],
            size: self.size,
        }
    }
}

/// True if a report says that all source records of the block have arrived.
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

/// The packets that were handed out and not yet reported as sent.
#[derive(Clone, Copy)]
pub(super) enum Polled {
    /// The record of this number, which is sent again.
    Again(u64),
    /// This many packets that are sent for the first time, from the first one that has not left.
    Fresh(usize),
}

pub(in crate::session) struct Outbound {
    pub(super) connection: Option<u32>,
    pub(super) limit: usize,
    /// `limit` on a path of which nothing is known.
    base_limit: usize,
    /// Path MTU search, where the MTU is to be discovered.
    pub(super) search: Option<MtuSearch>,
    pub(super) delivery: Delivery,
    pub(super) next: u64,
    /// Lead of the numbers of a group over those that are counted here, once the media is a group's.
    ahead: Option<u64>,
    pub(super) blocks: VecDeque<SentBlock>,
    /// Number of `blocks` that have been sent completely.
    pub(super) done: usize,
    pub(super) kept_bytes: usize,
    pub(super) backlog: usize,
    /// Bytes of frames that the program holds until the sealed ones have been sent.
    pub(super) waiting: usize,
    pub(super) again: VecDeque<u64>,
    pub(super) polled: Option<Polled>,
    /// Packets of several blocks that leave together.
    pub(super) joined: Vec<u8>,
    pub(super) spare: Vec<Vec<u8>>,
    pub(super) pacer: Pacer,
    pub(super) rate: RateController,
    /// Built when the first frame needs it, since its tables take milliseconds.
    pub(super) encoder: Option<Box<Encoder>>,
    pub(super) policy: RepairPolicy,
    pub(super) path: Path,
    /// Time at which media was last sent.
    pub(super) last_sent: Duration,
    /// Time since which media was sent without any report on it.
    pub(super) unanswered: Option<Duration>,
    /// True if the viewer reported that all media sent so far arrived.
    pub(super) all_came: bool,
    pub(super) tail: TailLossProbe,
    pub(super) counts: OutboundCounts,
    /// True if packets leave one by one in cells, whose times and sizes are not decided here.
    pub(super) in_cells: bool,
    /// True if the viewer hears the multicast group, to which the program sends frames once for all.
    pub(super) multicast: bool,
}

impl Outbound {
    /// `limit` is the longest datagram where nothing else is known; `connection` is the prefix of each.
    pub(in crate::session) fn new(connection: Option<u32>, limit: usize, delivery: Delivery, now: Duration) -> Self {
        let limit = match delivery.mtu {
            Mtu::Discover => limit,
            Mtu::Fixed(bytes) => bytes.clamp(BASE_DATAGRAM, MAX_DATAGRAM),
        };
        Self {
            connection,
            limit,
            base_limit: limit,
            search: (connection.is_some() && delivery.mtu == Mtu::Discover).then(|| MtuSearch::new(now)),
            delivery,
            next: 0,
            ahead: None,
            blocks: VecDeque::new(),
            done: 0,
            kept_bytes: 0,
            backlog: 0,
            waiting: 0,
            again: VecDeque::new(),
            polled: None,
            joined: Vec::new(),
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
            unanswered: None,
            all_came: true,
            tail: TailLossProbe::default(),
            counts: OutboundCounts::default(),
            in_cells: false,
            multicast: false,
        }
    }

    /// Packets travel in cells from here on, which have room for `limit` bytes. They need no prefix, no pace and no
    /// rate control: whatever the path is like, the cells are the same. Called before any media.
    pub(in crate::session) fn travel_in_cells(&mut self, limit: usize) {
        self.connection = None;
        self.limit = limit;
        self.base_limit = limit;
        self.search = None;
        self.delivery.rate = None;
        self.in_cells = true;
    }

    /// The peer is at another address: what was known of the path is not true of this one (RFC 9000 §9.4).
    pub(in crate::session) fn new_path(&mut self, now: Duration) {
        self.limit = self.base_limit;
        self.search = self.search.as_ref().map(|_| MtuSearch::new(now));
        self.rate = RateController::new(self.delivery.rate.unwrap_or_default());
        self.rate.queued(self.backlog.saturating_add(self.waiting));
        self.pacer = Pacer::new(now);
        self.unanswered = None;
    }

    /// All media is a group's from here on, of which `first` is the next record. What has not left is dropped. The
    /// numbers counted here go on, so that what is known of the path stays.
    pub(in crate::session) fn begin_group(&mut self, first: u64) {
        self.drop_unsent();
        self.ahead = Some(first.wrapping_sub(self.next));
    }

    /// Frames of the group that follow are sent to the multicast group, or again to this viewer alone.
    pub(in crate::session) fn set_multicast(&mut self, multicast: bool) {
        self.multicast = multicast;
    }

    /// True if records of this length fit its packets.
    pub(in crate::session) fn carries(&self, record: usize) -> bool {
        record + self.prefix().len() <= self.limit
    }

    pub(in crate::session) fn is_of_group(&self) -> bool {
        self.ahead.is_some()
    }

    /// The number counted here of a record of a group.
    pub(super) fn own_number(&self, number: u64) -> u64 {
        number.wrapping_sub(self.ahead.unwrap_or_default())
    }

    /// The number counted here of a record that the viewer named.
    fn unwrap(&self, wire: u32) -> u64 {
        unwrap_number(wire.wrapping_sub(self.ahead.unwrap_or_default() as u32), self.next)
    }

    pub(in crate::session) fn counts(&self) -> OutboundCounts {
        self.counts
    }

    pub(in crate::session) fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes sealed and not yet sent.
    pub(in crate::session) fn backlog(&self) -> usize {
        self.backlog
    }

    /// Bytes sent after the newest packet that the viewer reported.
    pub(in crate::session) fn in_flight(&self) -> u64 {
        self.rate.in_flight()
    }

    /// Note that `bytes` of frames wait to be sealed. The pacer speeds up for them too, where the window allows it.
    pub(in crate::session) fn waits(&mut self, bytes: usize) {
        self.waiting = bytes;
        self.rate.queued(self.backlog.saturating_add(bytes));
    }

    /// Process a feedback report of the viewer.
    pub(in crate::session) fn feedback(
        &mut self,
        now: Duration,
        feedback: &Feedback<'_>,
        round_trip: Option<RoundTrip>,
    ) {
        self.path = Path {
            budget: Duration::from_millis(u64::from(feedback.budget)),
            round_trip,
        };
        let report = Report {
            highest: self.unwrap(feedback.highest),
            arrived_ns: feedback.arrived,
            received: feedback.received,
        };
        if report.highest < self.next {
            self.rate.feedback(now, &report);
            self.unanswered = None;
            self.note_arrived(&report);
            let end = self.sources_end();
            self.all_came = report.highest + 1 >= end && self.blocks.iter().all(|block| block.arrived);
            self.tail.reported(report.highest, end);
        }
    }

    /// One more than the number of the last source record. The repair records after it need no report.
    fn sources_end(&self) -> u64 {
        let last = self.blocks.back();
        last.map_or(self.next, |block| block.first + block.sources.count as u64)
    }

    /// Send the end of the stream again where the report on it is overdue, for as long as it may be asked for. The
    /// last packets may be lost with nothing after them to reveal the gap; the repetition shows the viewer what to
    /// ask for.
    fn repeat_tail(&mut self, now: Duration) {
        if now < self.tail.due(self.path) {
            return;
        }
        let kept = self.path.kept();
        let wanted = |number: &u64| {
            let place = self.find(*number);
            place.is_some_and(|(block, _)| now < self.blocks[block].sealed_at + kept)
        };
        let quiet = self.delivery.nack && self.backlog == 0 && self.again.is_empty();
        if quiet {
            let from = self.tail.told().max(self.next.saturating_sub(MAX_TAIL));
            self.again = (from..self.next).rev().filter(wanted).take(TAIL).collect();
        }
        self.tail.missed(quiet && !self.again.is_empty());
    }

    /// Release blocks that have arrived, since nobody asks for them again: their buffers are reused for the next
    /// frames while they are still in the processor's cache.
    fn note_arrived(&mut self, report: &Report<'_>) {
        let oldest = report.highest.saturating_sub(report.received.len() as u64 * 8);
        let from = self.blocks.partition_point(|block| block.first < oldest);
        for at in from..self.done {
            let block = &mut self.blocks[at];
            if block.first > report.highest {
                break;
            }
            if !block.arrived && came(block, report) {
                block.arrived = true;
                self.release(at);
            }
        }
    }

    /// Drop everything of a block but its place.
    fn release(&mut self, at: usize) {
        let block = &mut self.blocks[at];
        for run in [std::mem::take(&mut block.sources), std::mem::take(&mut block.repairs)] {
            self.kept_bytes -= run.bytes.len();
            self.keep_buffer(run.bytes);
        }
    }

    /// True if all sealed media has arrived, or can no longer be asked for and has had `least` to arrive.
    pub(in crate::session) fn settled(&self, now: Duration, least: Duration) -> bool {
        let quiet = self.backlog == 0 && self.again.is_empty();
        quiet && (self.all_came || now >= self.last_sent + self.path.kept().max(least))
    }

    /// Target bit rate of the encoder, bit/s, where the path is estimated.
    pub(in crate::session) fn target(&self) -> Option<u64> {
        self.delivery.rate.map(|_| self.rate.target())
    }

    /// True if the viewer reports what arrives.
    pub(in crate::session) fn is_reported(&self) -> bool {
        self.rate.is_reported()
    }

    /// Smoothed share of packets lost, and the mean length of a loss burst.
    pub(in crate::session) fn loss(&self) -> (f64, f64) {
        (self.rate.loss(), self.rate.mean_burst())
    }

    pub(super) fn run(&mut self) -> Run {
        Run {
            bytes: self.spare.pop().unwrap_or_default(),
            size: 0,
            count: 0,
        }
    }

    /// A run for that many packets, without a buffer where there are none.
    pub(super) fn run_of(&mut self, count: usize) -> Run {
        if count > 0 { self.run() } else { Run::default() }
    }

    /// Note a block that leaves after all others.
    pub(super) fn queue(&mut self, block: SentBlock) {
        let bytes = block.sources.bytes.len() + block.repairs.bytes.len();
        self.kept_bytes += bytes;
        self.backlog += bytes;
        self.blocks.push_back(block);
    }

    /// True if the counters match the contents and stay within their bounds. For the fuzzer, which builds with
    /// assertions.
    pub(super) fn is_consistent(&self) -> bool {
        let bytes = |block: &SentBlock| block.sources.bytes.len() + block.repairs.bytes.len();
        let kept: usize = self.blocks.iter().map(bytes).sum();
        let unsent: usize = self.blocks.range(self.done..).map(bytes).sum();
        let bounded = self.again.len() <= MAX_RESENDS && self.spare.len() <= MAX_SHORT_SPARE;
        kept == self.kept_bytes && self.backlog <= unsent && kept - unsent <= 2 * MAX_HISTORY && bounded
    }

    /// Drop what can no longer be asked for.
    pub(super) fn forget(&mut self, now: Duration) {
        let kept = self.path.kept().min(MAX_KEPT);
        while self.done > 0 {
            let Some(block) = self.blocks.front() else { return };
            let old = !self.delivery.nack || block.arrived || now >= block.sealed_at + kept;
            if !old && self.kept_bytes <= MAX_HISTORY {
                return;
            }
            self.release(0);
            self.blocks.pop_front();
            self.done -= 1;
        }
    }

    fn keep_buffer(&mut self, mut buffer: Vec<u8>) {
        let most = if buffer.capacity() <= SHORT {
            MAX_SHORT_SPARE
        } else {
            MAX_SPARE
        };
        if self.spare.len() < most && buffer.capacity() > 0 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// The block and index of a source record that was sent and is still kept.
    pub(super) fn find(&self, number: u64) -> Option<(usize, usize)> {
        let after = self.blocks.partition_point(|block| block.first <= number);
        let at = after.checked_sub(1)?;
        let block = &self.blocks[at];
        let index = usize::try_from(number - block.first).ok()?;
        (index < block.sources.count.min(block.sent)).then_some((at, index))
    }

    /// Process a NACK: queue these records for sending again.
    pub(in crate::session) fn asked(&mut self, numbers: Numbers<'_>) {
        if !self.delivery.nack {
            return;
        }
        for wire in numbers.iter() {
            if self.again.len() >= MAX_RESENDS {
                return;
            }
            let number = self.unwrap(wire);
            if self.find(number).is_some() {
                self.again.push_back(number);
            }
        }
    }

    /// Drop unsent media, because the viewer is unreachable.
    pub(in crate::session) fn drop_unsent(&mut self) {
        self.again.clear();
        while self.blocks.len() > self.done {
            if let Some(block) = self.blocks.pop_back() {
                self.kept_bytes -= block.sources.bytes.len() + block.repairs.bytes.len();
            }
        }
        self.backlog = 0;
        self.tail.forget();
    }

    /// Perform the actions that are due.
    pub(in crate::session) fn tick(&mut self, now: Duration) {
        self.repeat_tail(now);
        self.rate.tick(now);
        if let Some(search) = &mut self.search
            && self.unanswered.is_some_and(|since| now >= since + BLACK_HOLE)
        {
            search.vanished(now);
            self.limit = search.found();
        }
    }

    /// The probe of the path that is due: its token and the length of its datagram.
    pub(in crate::session) fn probe(&mut self, now: Duration) -> Option<(u32, usize)> {
        self.search.as_mut().and_then(|search| search.probe(now))
    }

    /// A probe has arrived.
    pub(in crate::session) fn probe_came(&mut self, token: u32, now: Duration) {
        if let Some(search) = self.search.as_mut()
            && search.acknowledged(token, now)
        {
            self.limit = search.found();
        }
    }

    /// When packets may leave again; `Duration::MAX` if none wait.
    pub(in crate::session) fn deadline(&self) -> Duration {
        let search = self.search.as_ref().map_or(Duration::MAX, MtuSearch::deadline);
        let silence = self.rate.deadline().unwrap_or(Duration::MAX).min(search);
        if self.backlog == 0 && self.again.is_empty() {
            return silence.min(self.tail.due(self.path));
        }
        match self.pace() {
            Some(rate) if self.rate.may_send(self.limit) => self.pacer.next(rate).min(silence),
            // After a full drain of `poll` nothing is left to send, or the window is closed.
            _ => silence,
        }
    }
}
