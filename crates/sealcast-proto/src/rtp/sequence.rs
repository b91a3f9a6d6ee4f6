//! Order of RTP packets by their sequence numbers: each once, and what is missing waited for a moment.

use std::collections::VecDeque;
use std::time::Duration;

use super::bounds::{
    MAX_DROPOUT, MAX_FRESH, MAX_INTERVAL, MAX_PATIENCE, MAX_VAIN, MAX_WAITING, MAX_WAITING_BYTES, MIN_INTERVAL,
};

/// Numbers further from those that are expected than this belong to the sequence only if another packet says so too.
const WINDOW: u16 = 64;

/// Part of an RTP header that says where a packet belongs, and tells it from others with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Synchronization source.
    pub source: u32,
    /// Sequence number.
    pub number: u16,
    /// Timestamp.
    pub timestamp: u32,
    /// Length of the packet, then marker and payload type.
    kind: u32,
}

impl Label {
    /// Label of a packet; `None` if that is not RTP of version 2, or is RTCP.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let head = packet.first_chunk::<12>()?;
        let [first, second, n0, n1, t0, t1, t2, t3, source @ ..] = *head;
        // Payload types 64 to 95 with the marker are types of RTCP packets (RFC 5761, section 4).
        if first >> 6 != 2 || (192..224).contains(&second) {
            return None;
        }
        Some(Self {
            source: u32::from_be_bytes(source),
            number: u16::from_be_bytes([n0, n1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            kind: (packet.len() as u32) << 8 | u32::from(second),
        })
    }

    fn key(self) -> (u32, u32) {
        (self.timestamp, self.kind)
    }

    /// Length of the packet.
    fn length(self) -> usize {
        self.kind as usize >> 8
    }
}

/// A packet in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered<P> {
    /// The packet as it was pushed.
    pub packet: P,
    /// Number of packets that are missing before it.
    pub lost: u32,
    /// True for the first packet of a source, and of a sequence that starts anew. Its timestamps need not go on from
    /// those before, and how much is missing before it is not known.
    pub new_source: bool,
}

/// Rule how long packets wait, and what becomes of those that belong to no sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Packets came over a byte stream: none waits.
    Stream,
    /// Packets came in datagrams. Those that belong to no sequence are dropped.
    Datagrams,
    /// As before, but all packets come out, in the order of arrival where they have no other.
    Transparent,
}

/// Packets that were dropped or are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceCounts {
    /// Packets that had come before.
    pub duplicates: u64,
    /// Packets that came when those behind them had been handed out.
    pub late: u64,
    /// Packets that belonged to no sequence.
    pub strays: u64,
    /// Packets that never came, or came late.
    pub lost: u64,
}

/// Packets of one channel in order.
///
/// After each [`push`](Self::push), and when [`deadline`](Self::deadline) has come, call [`poll`](Self::poll) until it
/// returns nothing. A packet that is the next goes through without waiting or being copied. What waits for a missing
/// packet goes on when that has come, when [`MAX_WAITING`] packets or [`MAX_WAITING_BYTES`] wait, or after
/// [`MAX_PATIENCE`] or a quarter of the time between two pictures, whichever is first.
///
/// A sequence begins, or begins anew, with a packet whose number or source is another than expected, when the packet
/// after it has come or nothing else came in that time.
#[derive(Debug)]
pub struct Sequence<P> {
    discipline: Discipline,
    run: Option<Run>,
    /// Packets of the run that wait for earlier ones, by number. Without a packet: a number that is no loss.
    waiting: VecDeque<Waiting<P>>,
    /// Packets with which another run may begin, by number.
    fresh: VecDeque<Waiting<P>>,
    ready: VecDeque<Ordered<P>>,
    /// Number of packets missing before the next one that is handed out.
    missing: u32,
    /// The next one is the first of a run.
    begins: bool,
    pace: Pace,
    vain: u8,
    counts: SequenceCounts,
}

#[derive(Debug)]
struct Waiting<P> {
    label: Label,
    until: Duration,
    packet: Option<P>,
    /// Packets of the run came after it.
    doubted: bool,
}

/// A sequence of numbers.
#[derive(Debug)]
struct Run {
    source: u32,
    next: u16,
    /// Bit `n` is set if the number `next - 1 - n` was handed out.
    given: u64,
    /// Packets that were handed out under these numbers, modulo 64.
    keys: [(u32, u32); 64],
}

/// Place of a packet.
enum Place {
    Ahead,
    Duplicate,
    Late,
    /// In no run that is known.
    Elsewhere,
}

impl Run {
    fn begin(first: Label) -> Self {
        Self {
            source: first.source,
            next: first.number,
            given: 0,
            keys: [(0, 0); 64],
        }
    }

    /// Distance from the next number.
    fn ahead(&self, number: u16) -> u16 {
        number.wrapping_sub(self.next)
    }

    /// Goes on behind a number, which is the next.
    fn give(&mut self, label: Label, given: bool) {
        self.keys[usize::from(label.number % 64)] = label.key();
        self.given = self.given << 1 | u64::from(given);
        self.next = label.number.wrapping_add(1);
    }

    /// Gives up all before a number. Returns how many that were.
    fn skip_to(&mut self, number: u16) -> u16 {
        let count = self.ahead(number);
        self.given = self.given.checked_shl(u32::from(count)).unwrap_or(0);
        self.next = number;
        count
    }
}

/// Estimate of the time between two pictures, or packets of sound, from their arrival.
#[derive(Debug)]
struct Pace {
    last: Option<(u32, Duration)>,
    interval: Duration,
}

impl Pace {
    fn note(&mut self, now: Duration, timestamp: u32) {
        let Some((last, at)) = self.last else {
            self.last = Some((timestamp, now));
            return;
        };
        if timestamp != last {
            let interval = now.saturating_sub(at);
            if (MIN_INTERVAL..MAX_INTERVAL).contains(&interval) {
                self.interval = (self.interval * 7 + interval) / 8;
            }
            self.last = Some((timestamp, now));
        }
    }
}

impl<P> Sequence<P> {
    /// An empty sequence.
    pub fn new(discipline: Discipline) -> Self {
        Self {
            discipline,
            run: None,
            waiting: VecDeque::new(),
            fresh: VecDeque::new(),
            ready: VecDeque::new(),
            missing: 0,
            begins: false,
            pace: Pace {
                last: None,
                interval: MAX_PATIENCE * 4,
            },
            vain: 0,
            counts: SequenceCounts::default(),
        }
    }

    /// Source of the packets that come out.
    pub fn source(&self) -> Option<u32> {
        self.run.as_ref().map(|run| run.source)
    }

    /// Counts since the beginning.
    pub fn counts(&self) -> SequenceCounts {
        self.counts
    }

    /// Takes a packet that has arrived.
    pub fn push(&mut self, now: Duration, label: Label, packet: P) {
        self.give_up(now);
        match self.place(label) {
            Place::Ahead if self.is_next(label) => {
                let Some(run) = &mut self.run else { return };
                run.give(label, true);
                self.pace.note(now, label.timestamp);
                self.hand_out(packet);
            }
            Place::Ahead => {
                self.doubt();
                self.hold(now, label, Some(packet));
                self.go_on(now);
            }
            Place::Duplicate => self.counts.duplicates += 1,
            Place::Late => {
                self.counts.late += 1;
                self.vain = 0;
            }
            Place::Elsewhere => self.look_anew(now, label, packet),
        }
    }

    /// Goes on behind a packet that has arrived, if it is the next and nothing waits: then it has its place, and the
    /// caller has it. Returns false for any other, which is to be [pushed](Self::push).
    pub fn pass(&mut self, now: Duration, label: Label) -> bool {
        let passes = self.is_next(label) && self.ready.is_empty() && self.missing == 0 && !self.begins;
        if let Some(run) = self.run.as_mut().filter(|_| passes) {
            run.give(label, true);
            self.pace.note(now, label.timestamp);
        }
        passes
    }

    /// Takes a packet that belongs to no sequence, and comes out behind those that arrived before it and wait for
    /// nothing.
    pub fn push_stray(&mut self, packet: P) {
        self.drop_fresh();
        self.ready.push_back(Ordered {
            packet,
            lost: 0,
            new_source: false,
        });
    }

    /// Takes the number of a packet that does not come out. If it is of this sequence, it is not missing.
    pub fn pass_over(&mut self, now: Duration, label: Label) {
        if matches!(self.place(label), Place::Ahead) {
            self.hold(now, label, None);
            self.go_on(now);
        }
    }

    /// Begins anew with a packet, without waiting for another that confirms it.
    pub fn restart(&mut self, now: Duration, label: Label, packet: P) {
        self.drop_fresh();
        let waiting = self.wait(now, label, Some(packet));
        self.fresh.push_back(waiting);
        self.adopt(now);
    }

    /// Returns the next packet.
    pub fn poll(&mut self, now: Duration) -> Option<Ordered<P>> {
        if self.ready.is_empty() {
            self.give_up(now);
        }
        self.ready.pop_front()
    }

    /// Time at which [`poll`](Self::poll) gives up what packets wait for.
    pub fn deadline(&self) -> Option<Duration> {
        let waiting = self.waiting.iter().filter(|waiting| waiting.packet.is_some());
        waiting.chain(&self.fresh).map(|waiting| waiting.until).min()
    }

    /// Returns true if the packet is the next and nothing else waits.
    fn is_next(&self, label: Label) -> bool {
        let next = |run: &Run| run.source == label.source && run.next == label.number;
        self.run.as_ref().is_some_and(next) && self.waiting.is_empty() && self.fresh.is_empty()
    }

    /// Bytes of the packets that wait.
    pub fn waiting_bytes(&self) -> usize {
        let waiting = self.waiting.iter().chain(&self.fresh);
        let packets = waiting.filter(|waiting| waiting.packet.is_some());
        packets.map(|waiting| waiting.label.length()).sum()
    }

    fn place(&self, label: Label) -> Place {
        let Some(run) = self.run.as_ref().filter(|run| run.source == label.source) else {
            return Place::Elsewhere;
        };
        // Each that waits is at most a window from the one before it, so this does not come near half the numbers.
        let highest = self.waiting.back().map_or(0, |waiting| run.ahead(waiting.label.number));
        if run.ahead(label.number) < highest + WINDOW {
            return Place::Ahead;
        }
        let behind = run.next.wrapping_sub(label.number);
        match u32::from(behind) {
            0 | 65.. => Place::Elsewhere,
            behind if run.given >> (behind - 1) & 1 == 0 => Place::Late,
            _ if run.keys[usize::from(label.number % 64)] == label.key() => Place::Duplicate,
            // Another packet with a number that was used: the numbers may have begun anew.
            _ => Place::Elsewhere,
        }
    }

    fn patience(&self) -> Duration {
        match self.discipline {
            Discipline::Stream => Duration::ZERO,
            _ if self.vain == MAX_VAIN => Duration::ZERO,
            _ => (self.pace.interval / 4).min(MAX_PATIENCE),
        }
    }

    fn wait(&self, now: Duration, label: Label, packet: Option<P>) -> Waiting<P> {
        Waiting {
            label,
            until: now + self.patience(),
            packet,
            doubted: false,
        }
    }

    fn hand_out(&mut self, packet: P) {
        self.ready.push_back(Ordered {
            packet,
            lost: std::mem::take(&mut self.missing),
            new_source: std::mem::take(&mut self.begins),
        });
    }

    /// Holds a packet of the run, or its number.
    fn hold(&mut self, now: Duration, label: Label, packet: Option<P>) {
        let Some(run) = &self.run else { return };
        let ahead = run.ahead(label.number);
        let at = self
            .waiting
            .partition_point(|waiting| run.ahead(waiting.label.number) < ahead);
        let waiting = self.wait(now, label, packet);
        match self
            .waiting
            .get_mut(at)
            .filter(|other| other.label.number == label.number)
        {
            Some(other) if other.packet.is_none() => *other = waiting,
            Some(other) => match waiting.packet {
                Some(packet) if self.discipline == Discipline::Transparent && other.label != label => {
                    self.push_stray(packet);
                }
                Some(_) => self.counts.duplicates += 1,
                None => {}
            },
            None => {
                if at < self.waiting.len() && waiting.packet.is_some() {
                    self.vain = 0;
                }
                self.waiting.insert(at, waiting);
                while self.waiting.len() > MAX_WAITING
                    || !self.waiting.is_empty() && self.waiting_bytes() > MAX_WAITING_BYTES
                {
                    self.release(now, 0);
                }
            }
        }
    }

    /// Hands out what waits and is the next.
    fn go_on(&mut self, now: Duration) {
        while let (Some(run), Some(first)) = (&self.run, self.waiting.front())
            && run.next == first.label.number
            // A number alone may be another packet's too: it counts where that does not come.
            && (first.packet.is_some() || self.waiting.iter().any(|waiting| waiting.packet.is_some()))
        {
            self.release_first(now);
        }
    }

    /// Hands out the packets that wait up to an index, with all that follow them without a gap.
    fn release(&mut self, now: Duration, last: usize) {
        for _ in 0..=last {
            self.release_first(now);
        }
        self.go_on(now);
    }

    fn release_first(&mut self, now: Duration) {
        let (Some(run), Some(first)) = (&mut self.run, self.waiting.pop_front()) else {
            return;
        };
        let missing = run.skip_to(first.label.number);
        run.give(first.label, first.packet.is_some());
        self.missing += u32::from(missing);
        self.counts.lost += u64::from(missing);
        if let Some(packet) = first.packet {
            self.pace.note(now, first.label.timestamp);
            self.hand_out(packet);
        }
    }

    /// Takes a packet that is in no run: another may begin with it.
    fn look_anew(&mut self, now: Duration, label: Label, packet: P) {
        if let Some(first) = self.fresh.front().map(|first| first.label) {
            let apart = label.number.wrapping_sub(first.number).wrapping_add(MAX_FRESH as u16);
            let known = self.fresh.iter().find(|fresh| fresh.label.number == label.number);
            match known.map(|known| known.label == label) {
                Some(true) => {
                    self.counts.duplicates += 1;
                    return;
                }
                None if first.source == label.source && usize::from(apart) <= 2 * MAX_FRESH => {}
                _ => self.drop_fresh(),
            }
        }
        let full = |this: &Self| this.waiting_bytes() + label.length() > MAX_WAITING_BYTES;
        while self.fresh.len() == MAX_FRESH || !self.fresh.is_empty() && full(self) {
            self.drop_fresh_at(0);
        }
        while !self.waiting.is_empty() && full(self) {
            self.release(now, 0);
        }
        let base = self.fresh.front().map_or(label.number, |first| first.label.number);
        let place = |number: u16| number.wrapping_sub(base) as i16;
        let at = self
            .fresh
            .partition_point(|fresh| place(fresh.label.number) < place(label.number));
        let waiting = self.wait(now, label, Some(packet));
        self.fresh.insert(at, waiting);
        let confirmed = |at: usize| match (self.fresh.get(at), self.fresh.get(at + 1)) {
            (Some(one), Some(other)) => {
                let follows = other.label.number == one.label.number.wrapping_add(1);
                follows && !one.doubted && !other.doubted
            }
            _ => false,
        };
        if confirmed(at) || at > 0 && confirmed(at - 1) {
            self.adopt(now);
        }
    }

    /// Begins a run with what waits for it, after all of the run before.
    fn adopt(&mut self, now: Duration) {
        while !self.waiting.is_empty() {
            self.release_first(now);
        }
        let Some(first) = self.fresh.front().map(|first| first.label) else {
            return;
        };
        match &mut self.run {
            Some(run) if run.source == first.source && run.ahead(first.number) <= MAX_DROPOUT => {
                let missing = run.skip_to(first.number);
                self.missing += u32::from(missing);
                self.counts.lost += u64::from(missing);
            }
            run => {
                *run = Some(Run::begin(first));
                (self.missing, self.begins) = (0, true);
            }
        }
        std::mem::swap(&mut self.waiting, &mut self.fresh);
        self.go_on(now);
    }

    /// Packets of the run go on: what waits to begin another has less of a claim.
    fn doubt(&mut self) {
        if self.discipline == Discipline::Transparent {
            return self.drop_fresh();
        }
        for fresh in &mut self.fresh {
            fresh.doubted = true;
        }
    }

    fn drop_fresh(&mut self) {
        while !self.fresh.is_empty() {
            self.drop_fresh_at(0);
        }
    }

    /// Drops a packet that waits to begin a run, or hands it out.
    fn drop_fresh_at(&mut self, at: usize) {
        let Some(fresh) = self.fresh.remove(at) else { return };
        match fresh.packet {
            Some(packet) if self.discipline == Discipline::Transparent => self.ready.push_back(Ordered {
                packet,
                lost: 0,
                new_source: false,
            }),
            _ => self.counts.strays += 1,
        }
    }

    /// Gives up what was waited for long enough.
    fn give_up(&mut self, now: Duration) {
        let due = |waiting: &Waiting<P>| waiting.until <= now && waiting.packet.is_some();
        if self.fresh.iter().any(|fresh| due(fresh) && !fresh.doubted) {
            self.adopt(now);
        }
        while let Some(at) = self.fresh.iter().position(due) {
            self.drop_fresh_at(at);
        }
        if let Some(last) = self.waiting.iter().rposition(due) {
            self.vain = (self.vain + 1).min(MAX_VAIN);
            self.release(now, last);
        }
    }
}
