//! Fills cells with the records that wait, and knows when cells are due.

use std::collections::VecDeque;
use std::time::Duration;

use crate::session::PING_INTERVAL;
use crate::wire::{Cell, CellPlan, LENGTH_PREFIX, write_framed};

/// Ticks that are sent at once after a delay; of more, the oldest are not sent at all. Also the ticks that a carrier
/// may hold before no more are sent.
const MAX_CAUGHT_UP: u32 = 8;
/// Bytes of control messages that may wait. They are short, and more of them come only from a peer that asks more
/// often than it is answered.
const MAX_WAITING_CONTROL: usize = 64 * 1024;
/// Waits that are kept until the program has read them.
const MAX_WAITS: usize = 64;
/// Frames whose wait is measured at the same time.
const MAX_MARKS: usize = 64;

/// Counters of an end's cells, for the meters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeCounts {
    /// Cells sent.
    pub cells: u64,
    /// Bytes of these.
    pub cell_bytes: u64,
    /// Bytes that would have been sent without a shape.
    pub inner_bytes: u64,
    /// Ticks that came when their successor was due already.
    pub late_ticks: u64,
    /// Of these, ticks at which nothing was sent: too many were late at once, or the carrier took no more.
    pub skipped_ticks: u64,
    /// Control messages dropped, because the peer asks for more of them than the cells carry.
    pub dropped_control: u64,
}

/// The record that is being written to cells.
enum Current {
    /// The next bytes of the media.
    Media,
    /// A control record, and the number of its bytes that were written.
    Control(Vec<u8>, usize),
}

pub(in crate::session) struct CellWriter {
    plan: CellPlan,
    /// True on a byte stream, where a record may go on in the next cell.
    stream: bool,
    /// When the next tick is due.
    next: Duration,
    control: VecDeque<Vec<u8>>,
    control_bytes: usize,
    /// Framed media records of a byte stream, from `written` on.
    media: Vec<u8>,
    written: usize,
    /// The record that goes on in the next cell, and the bytes of it that are left.
    current: Current,
    left: usize,
    /// Ends of the frames that wait, as bytes of media since the beginning, and when each was sealed.
    marks: VecDeque<(u64, Duration)>,
    /// Bytes of media handed over since the beginning.
    pushed: u64,
    waits: VecDeque<Duration>,
    pub(super) counts: ShapeCounts,
}

impl CellWriter {
    /// The first tick is due at once.
    pub(super) fn new(plan: CellPlan, stream: bool, now: Duration) -> Self {
        Self {
            plan,
            stream,
            next: now,
            control: VecDeque::new(),
            control_bytes: 0,
            media: Vec::new(),
            written: 0,
            current: Current::Media,
            left: 0,
            marks: VecDeque::new(),
            pushed: 0,
            waits: VecDeque::new(),
            counts: ShapeCounts::default(),
        }
    }

    pub(super) fn plan(&self) -> &CellPlan {
        &self.plan
    }

    /// True if there is room for another control message, unless it is a very long one.
    pub(in crate::session) fn takes_control(&self) -> bool {
        self.control_bytes <= MAX_WAITING_CONTROL / 2
    }

    /// Add a sealed control message.
    pub(in crate::session) fn push_control(&mut self, record: Vec<u8>) {
        if self.control_bytes + record.len() > MAX_WAITING_CONTROL {
            self.counts.dropped_control += 1;
            return;
        }
        self.control_bytes += record.len();
        self.control.push_back(record);
    }

    /// Take the buffer to which a byte stream's framed media records are appended, to be given back by
    /// [`put_media`](Self::put_media).
    pub(in crate::session) fn take_media(&mut self) -> Vec<u8> {
        self.media.drain(..self.written);
        self.written = 0;
        std::mem::take(&mut self.media)
    }

    pub(in crate::session) fn put_media(&mut self, media: Vec<u8>) {
        self.media = media;
    }

    /// A frame was sealed: `before` and `after` are the bytes of media that waited.
    pub(super) fn pushed(&mut self, now: Duration, before: usize, after: usize) {
        self.pushed += after.saturating_sub(before) as u64;
        if self.marks.len() < MAX_MARKS {
            self.marks.push_back((self.pushed, now));
        }
    }

    /// Bytes of a byte stream's media that wait.
    pub(super) fn waiting_media(&self) -> usize {
        self.media.len() - self.written
    }

    /// True if nothing waits for a cell but media that the session holds itself.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting_media() == 0 && self.control.is_empty() && matches!(self.current, Current::Media)
    }

    /// Forget the media that waits, as at an end that needs none of it.
    pub(super) fn drop_media(&mut self) {
        if let Current::Media = self.current {
            // The rest of a record that is cut off here is recognised by what follows it.
            self.left = 0;
        }
        self.media.clear();
        self.written = 0;
        self.marks.clear();
    }

    /// Note which frames have left; `waiting` bytes of media still wait.
    pub(super) fn note_left(&mut self, now: Duration, waiting: usize) {
        let left = self.pushed.saturating_sub(waiting as u64);
        while let Some((_, sealed)) = self.marks.pop_front_if(|(end, _)| *end <= left) {
            if self.waits.len() == MAX_WAITS {
                self.waits.pop_front();
            }
            self.waits.push_back(now.saturating_sub(sealed));
        }
    }

    /// The wait of the next frame whose wait was not read yet: from its seal to the last cell that holds some of it.
    pub(super) fn take_wait(&mut self) -> Option<Duration> {
        self.waits.pop_front()
    }

    pub(super) fn deadline(&self) -> Duration {
        self.next
    }

    /// The number of ticks to send now. `held` are bytes that the carrier has not taken yet. A `stalled` peer gets one
    /// cell now and then.
    pub(super) fn due(&mut self, now: Duration, held: usize, stalled: bool) -> u32 {
        if now < self.next {
            return 0;
        }
        if stalled {
            self.next = now + PING_INTERVAL;
            return 1;
        }
        let tick = self.plan.tick.as_nanos().max(1);
        let passed = (now - self.next).as_nanos() / tick;
        let late = u32::try_from(passed).unwrap_or(u32::MAX);
        let most = usize::from(self.plan.size) * usize::from(self.plan.cells) * MAX_CAUGHT_UP as usize;
        let sent = if held > most { 0 } else { (late + 1).min(MAX_CAUGHT_UP) };
        self.counts.late_ticks += u64::from(late);
        self.counts.skipped_ticks += u64::from((late + 1) - sent);
        // Always whole ticks after the last one, so that the schedule depends on nothing.
        self.next += self.plan.tick.saturating_mul(late + 1);
        sent
    }

    /// The peer is heard again: ticks go on as before.
    pub(in crate::session) fn resume(&mut self, now: Duration) {
        self.next = self.next.min(now + self.plan.tick);
    }

    /// Fill the payload of a cell, which is all zeros. `packet` copies the next datagram of media into the room that
    /// it gets, if it fits, and returns its length.
    pub(super) fn fill(&mut self, payload: &mut [u8], packet: impl FnMut(&mut [u8]) -> Option<usize>) {
        let room = Cell::room(payload);
        let (length, first) = if self.stream {
            self.fill_stream(room)
        } else {
            self.fill_datagrams(room, packet)
        };
        Cell::put(payload, length, first);
        self.counts.cells += 1;
        self.counts.cell_bytes += u64::from(self.plan.size) + LENGTH_PREFIX as u64;
    }

    fn fill_stream(&mut self, room: &mut [u8]) -> (usize, Option<usize>) {
        let (mut at, mut first) = (0, None);
        while at < room.len() {
            if self.left == 0 {
                if !self.begin_record() {
                    break;
                }
                first.get_or_insert(at);
            }
            let count = self.left.min(room.len() - at);
            let target = &mut room[at..at + count];
            match &mut self.current {
                Current::Media => {
                    target.copy_from_slice(&self.media[self.written..self.written + count]);
                    self.written += count;
                }
                Current::Control(record, written) => {
                    target.copy_from_slice(&record[*written..*written + count]);
                    *written += count;
                }
            }
            at += count;
            self.left -= count;
            if self.left == 0 {
                self.current = Current::Media;
            }
        }
        self.counts.inner_bytes += at as u64;
        (at, first)
    }

    /// Take the next record of a byte stream, control first. Returns false if none waits.
    fn begin_record(&mut self) -> bool {
        if let Some(record) = self.control.pop_front() {
            self.control_bytes -= record.len();
            let mut framed = Vec::with_capacity(LENGTH_PREFIX + record.len());
            write_framed(&mut framed, &record);
            self.left = framed.len();
            self.current = Current::Control(framed, 0);
            return true;
        }
        let Some(prefix) = self.media[self.written..].first_chunk::<LENGTH_PREFIX>() else {
            return false;
        };
        self.left = LENGTH_PREFIX + u32::from_be_bytes(*prefix) as usize;
        self.current = Current::Media;
        true
    }

    fn fill_datagrams(
        &mut self,
        room: &mut [u8],
        mut packet: impl FnMut(&mut [u8]) -> Option<usize>,
    ) -> (usize, Option<usize>) {
        let mut at = 0;
        while let Some((prefix, rest)) = room[at..].split_first_chunk_mut::<ENTRY>() {
            let fits = |record: &mut Vec<u8>| record.len() <= rest.len();
            let length = match self.control.pop_front_if(fits) {
                Some(record) => {
                    self.control_bytes -= record.len();
                    rest[..record.len()].copy_from_slice(&record);
                    Some(record.len())
                }
                None => packet(rest),
            };
            let Some(length) = length else { break };
            *prefix = (length as u16).to_be_bytes();
            at += ENTRY + length;
            // A datagram of its own would have had the connection in front.
            self.counts.inner_bytes += (length + LENGTH_PREFIX) as u64;
        }
        (at, (at > 0).then_some(0))
    }
}

/// Length of the field before each record in a cell on datagrams.
pub(super) const ENTRY: usize = 2;
