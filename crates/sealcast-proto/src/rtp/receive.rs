//! The packets of one track in order and once, from one source and of one payload type.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::RtpPacket;

/// Most packets that wait for one before them.
const MAX_HELD: usize = 64;
/// Longest wait for a packet, and the part of the time between pictures that it lasts at most.
const PATIENCE: Duration = Duration::from_millis(30);
const PART_OF_INTERVAL: u32 = 4;
/// Shortest wait: what a kernel may take to hand on two datagrams.
const LEAST_PATIENCE: Duration = Duration::from_millis(2);
/// Distance in sequence numbers that is no loss, but another sequence.
const FAR: i16 = 3000;
/// A payload type that was not described is taken after so many packets and so long without the described one.
const UNDESCRIBED: (u32, Duration) = (20, Duration::from_secs(1));
/// A source that was replaced and comes again so soon alternates with the one that replaced it.
const ALTERNATES: Duration = Duration::from_millis(500);
/// A source that is silent for so long gives way to one that was refused.
const SILENT: Duration = Duration::from_secs(1);

/// A packet in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The packet as it came.
    pub packet: Bytes,
    /// True if packets before it are missing.
    pub lost: bool,
}

/// Packets that were left out since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came a second time.
    pub duplicates: u64,
    /// Packets that came after their place was given up.
    pub late: u64,
    /// Packets of other payload types.
    pub other_types: u64,
    /// Packets of a second source that alternates with the first.
    pub other_sources: u64,
    /// What is no RTP.
    pub malformed: u64,
    /// Packets that did not come.
    pub missing: u64,
}

/// Which payload type is taken.
#[derive(Clone, Copy, Debug)]
enum Type {
    /// The described one, of which packets came.
    Certain(u8),
    /// The described one, of which none came yet; and how many of which other one since when.
    Described(u8, Option<(u8, u32, Duration)>),
}

/// The packets of one track; see the module documentation.
#[derive(Debug)]
pub struct Receiver {
    payload_type: Type,
    waits: bool,
    source: Option<u32>,
    /// The source before, and when it was replaced.
    former: Option<(u32, Duration)>,
    /// A source that alternates with the one that is taken.
    refused: Option<u32>,
    last_came: Duration,
    /// The next sequence number.
    next: Option<u16>,
    /// The numbers before `next` that came, the last one in the lowest bit.
    came: u64,
    /// The number after one that was far from all others.
    elsewhere: Option<u16>,
    /// Packets that wait, by their distance from `next`.
    held: Vec<(u16, Bytes)>,
    held_since: Duration,
    ready: VecDeque<Ordered>,
    /// Timestamp of the last packet, when it was new, and the time between two.
    picture: Option<(u32, Duration)>,
    interval: Option<Duration>,
    counts: Counts,
}

impl Receiver {
    /// For a track with this described payload type, whose packets come over a byte stream.
    pub fn new(payload_type: u8) -> Self {
        Self {
            payload_type: Type::Described(payload_type, None),
            waits: false,
            source: None,
            former: None,
            refused: None,
            last_came: Duration::ZERO,
            next: None,
            came: 0,
            elsewhere: None,
            held: Vec::new(),
            held_since: Duration::ZERO,
            ready: VecDeque::new(),
            picture: None,
            interval: None,
            counts: Counts::default(),
        }
    }

    /// Whether packets wait for those before them: over datagrams, where they overtake one another.
    pub fn set_waits(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Takes a packet as it came, at the monotonic time `now`.
    pub fn push(&mut self, now: Duration, packet: Bytes) {
        let Some(header) = RtpPacket::parse(&packet) else {
            self.counts.malformed += 1;
            return;
        };
        let (kind, source, sequence, timestamp) =
            (header.payload_type, header.source, header.sequence, header.timestamp);
        if !self.takes_type(now, kind) {
            self.counts.other_types += 1;
            return;
        }
        if !self.takes_source(now, source) {
            self.counts.other_sources += 1;
            return;
        }
        self.last_came = now;
        self.time(now, timestamp);
        let Some(next) = self.next else {
            return self.start(sequence, packet, false);
        };
        let distance = sequence.wrapping_sub(next).cast_signed();
        match distance {
            0 => self.in_order(packet, false),
            1..FAR if self.waits => self.hold(now, distance.unsigned_abs(), packet),
            1..FAR => {
                self.counts.missing += u64::from(distance.unsigned_abs());
                self.start(sequence, packet, true);
            }
            _ if distance < 0 && distance > -FAR => self.behind(sequence, distance.unsigned_abs(), packet),
            _ => self.far(sequence, packet),
        }
    }

    /// Returns the next packet in order, at the monotonic time `now`.
    pub fn poll(&mut self, now: Duration) -> Option<Ordered> {
        while self.ready.is_empty() && self.deadline().is_some_and(|deadline| deadline <= now) {
            self.give_up(now);
        }
        self.ready.pop_front()
    }

    /// When packets that wait for one before them are given out without it.
    pub fn deadline(&self) -> Option<Duration> {
        if self.held.is_empty() {
            return None;
        }
        let part = self.interval.map_or(PATIENCE, |interval| interval / PART_OF_INTERVAL);
        Some(self.held_since + part.clamp(LEAST_PATIENCE, PATIENCE))
    }

    /// Returns what was left out since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    fn takes_type(&mut self, now: Duration, kind: u8) -> bool {
        match &mut self.payload_type {
            Type::Certain(certain) => *certain == kind,
            Type::Described(described, _) if *described == kind => {
                self.payload_type = Type::Certain(kind);
                true
            }
            Type::Described(_, other) => {
                let (alone, count, since) = match *other {
                    Some((alone, count, since)) if alone == kind => (alone, count + 1, since),
                    // Of several none is the one that was meant.
                    Some(_) => (kind, 1, now),
                    None => (kind, 1, now),
                };
                *other = Some((alone, count, since));
                let (packets, time) = UNDESCRIBED;
                let taken = count >= packets && now.saturating_sub(since) >= time;
                if taken {
                    self.payload_type = Type::Certain(kind);
                }
                taken
            }
        }
    }

    fn takes_source(&mut self, now: Duration, source: u32) -> bool {
        let Some(current) = self.source.filter(|current| *current != source) else {
            self.source = Some(source);
            return true;
        };
        let silent = now.saturating_sub(self.last_came) >= SILENT;
        if self.refused == Some(source) && !silent {
            return false;
        }
        let alternates =
            |(former, replaced): (u32, Duration)| former == source && now.saturating_sub(replaced) < ALTERNATES;
        self.refused = self.former.filter(|former| alternates(*former)).map(|_| current);
        self.former = Some((current, now));
        self.source = Some(source);
        self.flush();
        (self.next, self.elsewhere, self.came) = (None, None, 0);
        true
    }

    /// Learns the time between pictures.
    fn time(&mut self, now: Duration, timestamp: u32) {
        match self.picture {
            Some((before, _)) if before == timestamp => {}
            Some((_, since)) => {
                self.interval = Some(now.saturating_sub(since));
                self.picture = Some((timestamp, now));
            }
            None => self.picture = Some((timestamp, now)),
        }
    }

    /// Goes on with this packet as the next.
    fn start(&mut self, sequence: u16, packet: Bytes, lost: bool) {
        self.next = Some(sequence);
        self.came = 0;
        self.in_order(packet, lost);
    }

    fn in_order(&mut self, packet: Bytes, lost: bool) {
        self.elsewhere = None;
        self.advance(packet, lost);
        while let Some(at) = self.held.iter().position(|(distance, _)| *distance == 0) {
            let (_, packet) = self.held.swap_remove(at);
            self.advance(packet, false);
        }
    }

    fn advance(&mut self, packet: Bytes, lost: bool) {
        self.ready.push_back(Ordered { packet, lost });
        self.next = self.next.map(|next| next.wrapping_add(1));
        self.came = self.came << 1 | 1;
        for (distance, _) in &mut self.held {
            *distance = distance.wrapping_sub(1);
        }
    }

    fn hold(&mut self, now: Duration, distance: u16, packet: Bytes) {
        if self.held.iter().any(|(other, _)| *other == distance) {
            self.counts.duplicates += 1;
            return;
        }
        if self.held.is_empty() {
            self.held_since = now;
        }
        self.held.push((distance, packet));
        if self.held.len() >= MAX_HELD {
            self.give_up(now);
        }
    }

    /// Gives up waiting for the packets before the first that waits.
    fn give_up(&mut self, now: Duration) {
        let Some(missing) = self.held.iter().map(|(distance, _)| *distance).min() else {
            return;
        };
        self.counts.missing += u64::from(missing);
        self.came = self.came.checked_shl(missing.into()).unwrap_or(0);
        self.next = self.next.map(|next| next.wrapping_add(missing));
        for (distance, _) in &mut self.held {
            *distance -= missing;
        }
        if let Some(at) = self.held.iter().position(|(distance, _)| *distance == 0) {
            let (_, packet) = self.held.swap_remove(at);
            self.in_order(packet, true);
        }
        self.held_since = now;
    }

    /// Gives out all packets that wait.
    fn flush(&mut self) {
        while !self.held.is_empty() {
            self.give_up(Duration::ZERO);
        }
    }

    fn behind(&mut self, sequence: u16, distance: u16, packet: Bytes) {
        let recent = self.came.checked_shr(u32::from(distance) - 1).unwrap_or(0);
        if distance <= 64 && recent & 1 == 1 {
            self.counts.duplicates += 1;
        } else if distance <= 64 {
            self.counts.late += 1;
        } else {
            self.far(sequence, packet);
        }
    }

    /// Takes a number far from all others: the second that follows such a one begins another sequence.
    fn far(&mut self, sequence: u16, packet: Bytes) {
        if self.elsewhere.replace(sequence.wrapping_add(1)) == Some(sequence) || !self.waits {
            self.flush();
            self.start(sequence, packet, true);
        } else {
            self.counts.late += 1;
        }
    }
}
