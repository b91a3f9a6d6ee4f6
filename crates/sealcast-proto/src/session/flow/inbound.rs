//! The viewer's half: records arrive in any order, or not at all; frames are delivered in order and in time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::block::Block;
use super::copies::Copies;
use super::feedback::{Reports, When};
use super::inbound_counts::InboundCounts;
use super::nack::{Due, MAX_MISSING, Nacks, Since};
use super::ordered::{Mark, Marks, Ordered};
use super::tail_loss_probe::RepeatedTail;
use super::unwrap_number;
use crate::clock::{ClockReading, Now};
use crate::repair::{Decoder, MAX_SYMBOL};
use crate::seal::{Opened, SealedFrame, SealedRecord};
use crate::session::Delivery;
use crate::session::keyring::Repeated;
use crate::unit::{Assembled, AssembledFrame, Description, FrameOrder, MAX_FRAME, UnitHeader};
use crate::wire::{Control, MAX_NACK_ENTRIES, Malformed, Numbers, append};

/// Blocks held at once.
const MAX_BLOCKS: usize = 512;
/// Bytes of incomplete frames held at once.
const MAX_HELD: usize = 2 * MAX_FRAME;
/// A block whose packets arrive no further apart than this is still arriving: it is neither asked for nor given up.
const STILL_ARRIVING: Duration = Duration::from_millis(5);
/// A block's last packets count as missing when nothing arrived for this much longer than the spacing of its packets.
const TAIL_PATIENCE: Duration = Duration::from_millis(6);
/// Spacing of a block's packets assumed while none is known, and its upper bound.
const MOST_SPACING: Duration = Duration::from_millis(40);
/// After this many records in a row of blocks without repair symbols, sealed records are no longer kept.
const UNREPAIRED: u32 = 256;

/// A frame of which some blocks are complete.
struct Building {
    frame: AssembledFrame,
    marks: Marks,
}

pub(in crate::session) struct Inbound {
    budget: Duration,
    tell_units: bool,
    pub(super) blocks: BTreeMap<u64, Block>,
    pub(super) held: usize,
    /// First number of the next block to deliver.
    expected: u64,
    /// One more than the highest number that arrived or counts as missing.
    noted: u64,
    reports: Reports,
    missing: Nacks,
    copies: Copies,
    tail: RepeatedTail,
    building: Option<Building>,
    /// The records of the description before the next frame, where such are kept.
    description: Vec<Arc<SealedRecord>>,
    pub(super) order: FrameOrder,
    /// True if each frame is followed by its proof, and its description is proved with it.
    pub(super) proved: bool,
    /// The streams of which a frame was handed out and its proof was not, one bit for each.
    pub(super) unproven: u16,
    out: VecDeque<Ordered>,
    /// The longest wait between two packets of a block, decaying. Long frames are paced, so it can be long.
    spacing: Duration,
    /// Records in a row of blocks that have no repair symbols.
    unrepaired: u32,
    sealed: Vec<u8>,
    recovered: VecDeque<Vec<u8>>,
    decoder: Option<Box<Decoder>>,
    pub(in crate::session) counts: InboundCounts,
}

impl Inbound {
    pub(in crate::session) fn new(delivery: &Delivery, now: Duration) -> Self {
        Self {
            budget: delivery.budget,
            tell_units: delivery.tell_units,
            blocks: BTreeMap::new(),
            held: 0,
            expected: 0,
            noted: 0,
            reports: Reports::default(),
            missing: Nacks::new(now),
            copies: Copies::default(),
            tail: RepeatedTail::default(),
            building: None,
            description: Vec::new(),
            order: FrameOrder::new(),
            proved: false,
            unproven: 0,
            out: VecDeque::new(),
            spacing: MOST_SPACING,
            unrepaired: 0,
            sealed: Vec::new(),
            recovered: VecDeque::new(),
            decoder: None,
            counts: InboundCounts::default(),
        }
    }

    /// Forget all media: other media begins at this number. `proved` if each frame is followed by its proof.
    pub(in crate::session) fn begin_anew(&mut self, number: u32, now: Duration, proved: bool) {
        let delivery = Delivery {
            budget: self.budget,
            tell_units: self.tell_units,
            ..Delivery::default()
        };
        *self = Self {
            expected: number.into(),
            noted: number.into(),
            proved,
            counts: self.counts,
            ..Self::new(&delivery, now)
        };
    }

    /// Each stream's frame numbers say what was lost of it, from here on.
    pub(in crate::session) fn numbers_tell(&mut self) {
        self.order.numbers_tell();
    }

    /// The next output to deliver.
    pub(in crate::session) fn next(&mut self) -> Option<Ordered> {
        self.out.pop_front()
    }

    /// Keep a copy of a sealed record that is about to be opened in place, if it may help to repair others. Its use
    /// is known only after opening.
    pub(in crate::session) fn keep_sealed(&mut self, record: &[u8]) {
        self.sealed.clear();
        if self.unrepaired < UNREPAIRED && record.len() <= MAX_SYMBOL {
            self.sealed.extend_from_slice(record);
        }
    }

    /// The next sealed record that was recovered and must be opened.
    pub(in crate::session) fn next_recovered(&mut self) -> Option<Vec<u8>> {
        self.recovered.pop_front()
    }

    /// Process a recovered record that was verified.
    pub(in crate::session) fn take_recovered(
        &mut self,
        now: Now,
        record: &Opened<'_>,
        mark: Option<Mark>,
    ) -> Result<(), Malformed> {
        let header = record.header();
        let (unit, part) = UnitHeader::split(record.payload(), header.flags.repair())?;
        let number = unwrap_number(unit.number, self.noted);
        let first = number.checked_sub(unit.index.into()).ok_or(Malformed)?;
        self.missing.forget(number);
        // The original may be late and not lost, so one copy is expected.
        self.copies.came(number, header, 1);
        self.tail.came(number, header);
        let Some(block) = self.blocks.get_mut(&first).filter(|_| !header.flags.repair()) else {
            return Ok(());
        };
        self.counts.recovered += 1;
        self.counts.in_clear += u64::from(header.flags.in_clear_by_selection());
        let held = block.held();
        if self.tell_units {
            block.tell(unit.index, record, now.monotonic, true);
        }
        let taken = block
            .mark(unit.index, mark)
            .and_then(|()| block.take_source(unit, header.flags, header.timestamp, part, now.monotonic));
        self.held = self.held + block.held() - held;
        taken?;
        self.advance()
    }

    /// Process a repeated record; returns true if the copy was expected. `clock` is the estimate of the sender's
    /// clock.
    pub(in crate::session) fn repeated(
        &mut self,
        now: Now,
        record: Repeated,
        clock: Option<ClockReading>,
        round_trip: Duration,
    ) -> bool {
        let kept = self.budget + round_trip * 2;
        let unasked = self.tail.copies(record, now.wall, clock, kept);
        let expected = self.copies.take(record, unasked);
        self.counts.duplicates += u64::from(expected);
        expected
    }

    /// Process a verified media record.
    pub(in crate::session) fn take(
        &mut self,
        now: Now,
        record: &Opened<'_>,
        mark: Option<Mark>,
        round_trip: Duration,
    ) -> Result<(), Malformed> {
        let header = record.header();
        let repair = header.flags.repair();
        let (unit, part) = UnitHeader::split(record.payload(), repair)?;
        let number = unwrap_number(unit.number, self.noted);
        let before = u64::from(unit.index) + if repair { u64::from(unit.sources) } else { 0 };
        let first = number.checked_sub(before).ok_or(Malformed)?;
        self.learn_spacing(first, now.monotonic);
        self.came(number, first, now, round_trip);
        self.copies.came(number, header, 0);
        if !repair {
            self.tail.came(number, header);
        }
        self.counts.in_clear += u64::from(header.flags.in_clear_by_selection());
        if first < self.expected {
            self.counts.late += u64::from(!repair);
            return Ok(());
        }
        let end = first + u64::from(unit.sources) + u64::from(unit.repairs);
        if end == self.expected + 1 && !repair && !self.blocks.contains_key(&first) {
            return self.pass(now, record, mark, (unit, part));
        }
        if !self.make_room(first, end) {
            return Err(Malformed);
        }
        let new = || Block::new(header.stream, unit, header.flags, now.monotonic);
        let block = self.blocks.entry(first).or_insert_with(new);
        let held = block.held();
        let taken = if repair {
            self.counts.repairs += 1;
            block.take_repair(unit, part, now.monotonic)
        } else {
            self.counts.sources += 1;
            if self.tell_units {
                block.tell(unit.index, record, now.monotonic, false);
            }
            block
                .mark(unit.index, mark)
                .and_then(|()| block.take_source(unit, header.flags, header.timestamp, part, now.monotonic))
                .and_then(|()| block.keep_sealed(unit.index, &self.sealed))
        };
        self.unrepaired = if unit.repairs > 0 {
            0
        } else {
            self.unrepaired.saturating_add(1)
        };
        let recovered = taken.and_then(|()| block.recover(&mut self.decoder));
        // In a group the stream goes on after a record that does not fit.
        self.held = self.held + block.held() - held;
        self.recovered.extend(recovered?);
        let advanced = self.advance();
        debug_assert!(self.is_consistent(), "the books of the blocks do not add up");
        advanced
    }

    /// Process a record that is a block of its own and next in order: it need not be stored.
    fn pass(
        &mut self,
        now: Now,
        record: &Opened<'_>,
        mark: Option<Mark>,
        (unit, part): (UnitHeader, &[u8]),
    ) -> Result<(), Malformed> {
        let header = record.header();
        let mut block = Block::new(header.stream, unit, header.flags, now.monotonic);
        self.counts.sources += 1;
        self.unrepaired = self.unrepaired.saturating_add(1);
        if self.tell_units {
            block.tell(unit.index, record, now.monotonic, false);
        }
        block.mark(unit.index, mark)?;
        block.take_source(unit, header.flags, header.timestamp, part, now.monotonic)?;
        self.expected += block.len();
        self.missing.forget_below(self.expected);
        self.hand_out(block)?;
        self.advance()
    }

    /// True if the counters match the contents and stay within their bounds. For the fuzzer, which builds with
    /// assertions.
    fn is_consistent(&self) -> bool {
        let mut end = self.expected;
        let in_order = self.blocks.iter().all(|(&first, block)| {
            let after = first >= end;
            end = first + block.len();
            after
        });
        let held: usize = self.blocks.values().map(Block::held).sum();
        let bounded = self.blocks.len() <= MAX_BLOCKS && self.missing.count() <= MAX_MISSING;
        in_order && held == self.held && bounded
    }

    fn learn_spacing(&mut self, first: u64, now: Duration) {
        if self.blocks.last_key_value().is_some_and(|(&newest, _)| newest == first) {
            let wait = now.saturating_sub(self.missing.last_arrival()).min(MOST_SPACING);
            self.spacing = wait.max(self.spacing - self.spacing / 64);
        }
    }

    /// Note that `number` of the block at `first` arrived, and that the numbers before it are missing.
    fn came(&mut self, number: u64, first: u64, now: Now, round_trip: Duration) {
        self.reports.came(now.monotonic);
        if number >= self.noted {
            let start = first.max(self.noted);
            let noted = self.missing.note(self.noted..start, now.monotonic, Since::LastArrival)
                && self.missing.note(start..number, now.monotonic, Since::Now);
            if !noted {
                // An outage: continue with the arriving block, whose beginning may be repaired.
                self.give_up_to(first.max(self.expected));
                self.missing.note(start..number, now.monotonic, Since::Now);
            }
            self.noted = number + 1;
        }
        // Report the newest number even if it was asked for: the sender waits to learn that the path is free.
        let newest = self.reports.highest().is_none_or(|highest| number > highest);
        if self.missing.arrived(number, now.monotonic, round_trip) || newest {
            self.reports.mark(number, now.wall);
        }
    }

    /// Make room for a block from `first` to `end`. Returns `false` if it overlaps another block.
    fn make_room(&mut self, first: u64, end: u64) -> bool {
        if self.blocks.contains_key(&first) {
            return true;
        }
        while self.blocks.len() >= MAX_BLOCKS || self.held > MAX_HELD {
            let Some((&oldest, block)) = self.blocks.first_key_value() else {
                break;
            };
            let oldest_end = oldest + block.len();
            self.give_up_to(oldest_end);
        }
        let before = self.blocks.range(..end).next_back();
        before.is_none_or(|(&start, block)| start + block.len() <= first)
    }

    /// Deliver every block that is next in order and complete.
    fn advance(&mut self) -> Result<(), Malformed> {
        while let Some(block) = self.blocks.get(&self.expected) {
            if !block.complete() {
                break;
            }
            let end = self.expected + block.len();
            if let Some(block) = self.blocks.remove(&self.expected) {
                self.held -= block.held();
                self.expected = end;
                self.missing.forget_below(end);
                if !block.taken {
                    self.hand_out(block)?;
                }
            }
        }
        self.pass_by()
    }

    pub(super) fn hand_out(&mut self, mut block: Block) -> Result<(), Malformed> {
        let marks = block.take_marks();
        if block.proof {
            self.unproven &= !stream_bit(block.stream);
            self.out.push_back(Ordered::Proof(block.into_parts().1, marks));
            return Ok(());
        }
        if block.config {
            let stream = block.stream;
            let description = Description::parse(stream, &block.into_parts().1)?;
            self.order.described(&description);
            // That of another stream may stand before it.
            self.description.retain(|kept| kept.stream() != stream);
            self.description.extend(marks.sealed.iter().cloned());
            self.out.push_back(Ordered::Media(description.into(), marks));
            return Ok(());
        }
        let (stream, last, keyframe, sealed_at) = (block.stream, block.last, block.keyframe, block.sealed_at);
        let (units, arrived) = (std::mem::take(&mut block.units), block.filled);
        let (preamble, data) = block.into_parts();
        if let Some(preamble) = preamble {
            let mut frame = AssembledFrame {
                stream,
                preamble,
                keyframe,
                sealed_at,
                arrived,
                skipped: 0,
                data,
                units: Vec::new(),
                sealed: SealedFrame::default(),
            };
            frame.tell_units(units);
            if last {
                // What is being put together may be a frame of another stream.
                return self.judge(Building { frame, marks });
            }
            self.building = Some(Building { frame, marks });
        } else {
            // If the beginning of the frame was given up, drop the rest too.
            let Some(Building { frame, marks: before }) = &mut self.building else {
                return Ok(());
            };
            let differs = frame.keyframe != keyframe || frame.stream != stream || before.epoch != marks.epoch;
            if frame.data.len() + data.len() > MAX_FRAME || differs {
                return Err(Malformed);
            }
            before.hashes.extend(marks.hashes);
            before.sealed.extend(marks.sealed);
            append(&mut frame.data, &data);
            frame.sealed_at = sealed_at;
            frame.arrived = frame.arrived.max(arrived);
            frame.tell_units(units);
        }
        match self.building.take_if(|_| last) {
            Some(whole) => self.judge(whole),
            None => Ok(()),
        }
    }

    /// Hands out a whole frame, if it can be decoded.
    fn judge(&mut self, Building { mut frame, mut marks }: Building) -> Result<(), Malformed> {
        let (mut records, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.description)
            .into_iter()
            .partition(|kept| !self.proved || kept.stream() == frame.stream);
        self.description = others;
        self.unproven |= if self.proved { stream_bit(frame.stream) } else { 0 };
        records.append(&mut marks.sealed);
        frame.sealed = SealedFrame { records, units: true };
        let judged = self.order.next(frame)?;
        self.out.push_back(Ordered::Media(judged, marks));
        Ok(())
    }

    /// Continue at `number`, or at the first block after it, without the missing part before.
    fn give_up_to(&mut self, number: u64) {
        self.counts.given_up += 1;
        self.building = None;
        self.description.clear();
        if !self.order.carries_sound() {
            self.order.lost();
            self.out.push_back(Ordered::Media(Assembled::Lost, Marks::default()));
        } else {
            self.out.push_back(Ordered::Missing);
        }
        let kept = self.blocks.split_off(&number);
        self.held = kept.values().map(Block::held).sum();
        self.blocks = kept;
        self.expected = self.blocks.first_key_value().map_or(number, |(&first, _)| first);
        self.missing.forget_below(self.expected);
    }

    /// Handle a timeout: give up late blocks, and note missing packets at the end of a block.
    pub(in crate::session) fn handle_timeout(&mut self, now: Duration) -> Result<(), Malformed> {
        self.note_tail(now);
        while self.give_up_at().is_some_and(|at| at <= now) {
            let end = self.stuck_until();
            self.give_up_to(end);
            self.advance()?;
        }
        Ok(())
    }

    /// The end of the obstacle to delivery: the incomplete block that is next, or the gap before the next one.
    fn stuck_until(&self) -> u64 {
        match self.blocks.first_key_value() {
            Some((&first, block)) if first == self.expected => first + block.len(),
            Some((&first, _)) => first,
            None => self.noted,
        }
    }

    /// Time at which the obstacle to delivery is given up.
    fn give_up_at(&self) -> Option<Duration> {
        if self.expected >= self.noted {
            return None;
        }
        let end = self.stuck_until();
        // Numbers above the highest received may not have been sent yet, since long frames are paced.
        let highest = self.reports.highest()?;
        // In a group a number may have come in a record that fits nowhere, and then nothing is missing any more.
        let came = || self.blocks.values().next().filter(|_| highest >= end);
        let since = self.missing.first_before(end.min(highest));
        let since = since.or_else(|| came().map(|block| block.last_arrival))?;
        let block = self.blocks.get(&self.expected);
        let arriving = block
            .filter(|_| self.noted < end)
            .map(|block| block.last_arrival + STILL_ARRIVING);
        Some((since + self.budget).max(arriving.unwrap_or_default()))
    }

    /// Note the last packets of the newest block as missing. If they are lost, nothing may follow to reveal it.
    fn note_tail(&mut self, now: Duration) {
        if self.tail_at().is_none_or(|at| now < at) {
            return;
        }
        if let Some((&first, block)) = self.blocks.last_key_value() {
            let end = first + u64::from(block.sources);
            let start = self.noted;
            if end > start && self.missing.note(start..end, now, Since::LastArrival) {
                self.noted = end;
            }
        }
    }

    fn tail_at(&self) -> Option<Duration> {
        let (&first, block) = self.blocks.last_key_value()?;
        let open = !block.complete() && self.noted < first + u64::from(block.sources);
        open.then(|| self.missing.last_arrival() + self.spacing * 2 + TAIL_PATIENCE)
    }

    /// The NACK that is due, if any; its entries are put into `entries`.
    pub(in crate::session) fn nack<'a>(
        &mut self,
        now: Duration,
        round_trip: Duration,
        entries: &'a mut Vec<u8>,
    ) -> Option<Control<'a>> {
        if self.missing.deadline() > now {
            return None;
        }
        let (blocks, noted) = (&self.blocks, self.noted);
        let mut wanted = Vec::new();
        let mut left = (0, 0);
        let mut judge = |number| judge(blocks, noted, number, now, &mut left);
        self.missing.due(now, round_trip, self.budget, &mut judge, &mut wanted);
        wanted.truncate(MAX_NACK_ENTRIES * 256);
        for number in &wanted {
            self.copies.asked(unwrap_number(*number, noted));
        }
        self.counts.asked += wanted.len() as u64;
        (!wanted.is_empty()).then(|| Control::Nack(Numbers::collect(wanted, entries)))
    }

    /// The feedback that is due on the occasion `when`, if any; its bitmap is put into `bits`.
    pub(in crate::session) fn feedback<'a>(
        &mut self,
        now: Duration,
        when: When,
        bits: &'a mut Vec<u8>,
    ) -> Option<Control<'a>> {
        let report = self.reports.due(now, when, self.budget, bits);
        report.map(Control::Feedback)
    }

    /// Time of the next timeout.
    pub(in crate::session) fn deadline(&self) -> Duration {
        let never = Duration::MAX;
        let give_up = self.give_up_at().unwrap_or(never);
        let tail = self.tail_at().unwrap_or(never);
        let others = self.missing.deadline().min(self.reports.deadline());
        others.min(give_up).min(tail)
    }
}

/// Decide about a missing number. `left` is one more than the first number of a block, and the number of its records
/// that are still needed.
fn judge(blocks: &BTreeMap<u64, Block>, noted: u64, number: u64, now: Duration, left: &mut (u64, u32)) -> Due {
    let block = blocks.range(..=number).next_back();
    let Some((&first, block)) = block.filter(|(first, block)| number < *first + block.len()) else {
        // Nothing of its block arrived: the block may consist of this record alone.
        return Due::Ask;
    };
    let index = number - first;
    if index >= u64::from(block.sources) || block.complete() {
        return Due::Unneeded;
    }
    let end = first + block.len();
    let soon = block.last_arrival + STILL_ARRIVING;
    if block.repairs > 0 && noted < end && now < soon {
        return Due::Later(soon);
    }
    if left.0 != first + 1 {
        *left = (first + 1, block.wanted());
    }
    match left.1.checked_sub(1) {
        Some(fewer) => {
            left.1 = fewer;
            Due::Ask
        }
        None => Due::Spare,
    }
}

/// The bit of a stream, 1 to 15.
pub(super) fn stream_bit(stream: u32) -> u16 {
    1_u16.checked_shl(stream).unwrap_or_default()
}
