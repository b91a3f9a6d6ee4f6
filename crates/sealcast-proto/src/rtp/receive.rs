//! Receiving the packets of one track.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::bounds::{MAX_KEPT, MAX_KEPT_BYTES, MAX_OTHER_TYPES};
use super::sequence::{Discipline, Label, Ordered, Sequence, SequenceCounts};

/// Time and number of packets without one of the described payload type, after which the only other type that came
/// counts instead.
const TYPE_PATIENCE: Duration = Duration::from_secs(1);
const TYPE_PACKETS: u64 = 20;
/// Two sources alternate if the one before comes again so soon and so often. Fewer are late packets of it.
const RETURN_PATIENCE: Duration = Duration::from_secs(1);
const RETURNS: u32 = 4;
/// Packets of another source that came among those of the present one, after which the two alternate.
const AMONG: u32 = 8;

impl ReceiveCounts {
    /// Adds what was counted elsewhere or later.
    pub fn add(&mut self, more: Self) {
        self.duplicates += more.duplicates;
        self.late += more.late;
        self.foreign_types += more.foreign_types;
        self.foreign_sources += more.foreign_sources;
        self.strays += more.strays;
        self.malformed += more.malformed;
        self.lost += more.lost;
    }
}

/// Way in which packets of a track arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over a byte stream: in order, so none waits for another.
    Stream,
    /// In datagrams.
    Datagrams,
}

/// Packets that did not come out of a [`Receiver`], or are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounts {
    /// Packets that had come before.
    pub duplicates: u64,
    /// Packets that came when those behind them had been handed out, or another source had taken over.
    pub late: u64,
    /// Packets of another payload type, RTCP among them.
    pub foreign_types: u64,
    /// Packets of a source that alternates with the one that counts.
    pub foreign_sources: u64,
    /// Packets whose number belongs to no sequence.
    pub strays: u64,
    /// Packets that are no RTP, or shorter than they say.
    pub malformed: u64,
    /// Packets that never came, or came late.
    pub lost: u64,
}

/// Receives one track: its packets in order and once, of one payload type and one source at a time.
///
/// After each [`push`](Self::push), and when [`deadline`](Self::deadline) has come, call [`poll`](Self::poll) until it
/// returns nothing. How long packets wait for a missing one says [`Sequence`].
///
/// The described payload type counts. Where none of it came in the first second and 20 packets, the only other type
/// that came counts instead, until one of the described type comes. A new source takes over at once; of two that
/// alternate the first stays. What a camera announces of sources and first numbers is not looked at: many announce
/// others than they send.
#[derive(Debug)]
pub struct Receiver {
    sequence: Sequence<Bytes>,
    types: Types,
    sources: Sources,
    malformed: u64,
    foreign_types: u64,
    foreign_sources: u64,
    late: u64,
    /// Counts that were taken.
    told: ReceiveCounts,
}

/// Judgement of a packet by its payload type.
enum ByType {
    Counts,
    Foreign,
    /// It is not known yet.
    Kept,
}

/// The payload type that counts.
#[derive(Debug)]
struct Types {
    listed: Vec<u8>,
    present: Option<u8>,
    /// Packets of the described type came.
    settled: bool,
    began: Option<Duration>,
    /// Packets of other types, while it is not known which counts.
    others: Vec<(u8, u64)>,
    kept: VecDeque<(Duration, u8, Label, Bytes)>,
    kept_bytes: usize,
}

/// Judgement of a packet by its source.
enum BySource {
    Counts,
    Late,
    Foreign,
    /// It is of the source before, which stays.
    Returns,
}

/// The sources of a track.
#[derive(Debug, Default)]
struct Sources {
    present: Option<u32>,
    /// Time of the present source's last packet.
    heard: Duration,
    /// The source before, when it was replaced, and how many of its packets came since.
    former: Option<(u32, Duration, u32)>,
    /// A source that has not taken over, and the number of its packets.
    other: Option<(u32, u32)>,
    /// The source that alternates with the present one.
    refused: Option<u32>,
    /// The present and the refused source, until that was told.
    news: Option<(u32, u32)>,
}

impl Receiver {
    /// A receiver for a track with these payload types, of which the first is the one that counts. If there are none,
    /// the type of the first packet does.
    pub fn new(payload_types: &[u8], way: Way) -> Self {
        let discipline = match way {
            Way::Stream => Discipline::Stream,
            Way::Datagrams => Discipline::Datagrams,
        };
        Self {
            sequence: Sequence::new(discipline),
            types: Types::new(payload_types),
            sources: Sources::default(),
            malformed: 0,
            foreign_types: 0,
            foreign_sources: 0,
            late: 0,
            told: ReceiveCounts::default(),
        }
    }

    /// Takes an RTP packet that has arrived.
    pub fn push(&mut self, now: Duration, packet: Bytes) {
        let Some((label, payload_type)) = Label::of(&packet).zip(packet.get(1).map(|second| second & 0x7f)) else {
            // What is RTP to look at and has no label is RTCP.
            match super::RtpPacket::parse(&packet) {
                Some(_) => self.foreign_types += 1,
                None => self.malformed += 1,
            }
            return;
        };
        if super::RtpPacket::parse(&packet).is_none() {
            self.malformed += 1;
            return;
        }
        match self.types.judge(payload_type) {
            ByType::Counts => {
                self.foreign_types += self.types.forget_kept();
                self.take(now, label, packet);
            }
            ByType::Foreign => {
                self.foreign_types += 1;
                self.sequence.pass_over(now, label);
            }
            ByType::Kept => {
                self.foreign_types += self.types.keep(now, payload_type, label, packet);
                for (then, label, packet) in self.types.choose(now) {
                    self.take(then, label, packet);
                }
            }
        }
    }

    /// Takes a packet of the payload type that counts.
    fn take(&mut self, now: Duration, label: Label, packet: Bytes) {
        match self.sources.judge(now, label.source) {
            BySource::Counts => self.sequence.push(now, label, packet),
            BySource::Late => self.late += 1,
            BySource::Foreign => self.foreign_sources += 1,
            BySource::Returns => self.sequence.restart(now, label, packet),
        }
        self.sources.took_over(now, self.sequence.source());
    }

    /// Returns the next packet in order.
    pub fn poll(&mut self, now: Duration) -> Option<Ordered<Bytes>> {
        let next = self.sequence.poll(now);
        self.sources.took_over(now, self.sequence.source());
        next
    }

    /// Time at which [`poll`](Self::poll) gives up what packets wait for.
    pub fn deadline(&self) -> Option<Duration> {
        self.sequence.deadline()
    }

    /// The payload type of the packets that come out; `None` as long as it is not described and nothing came.
    pub fn payload_type(&self) -> Option<u8> {
        self.types.present
    }

    /// Takes the news that two sources alternate: the one that stays, and the other.
    pub fn take_alternating(&mut self) -> Option<(u32, u32)> {
        self.sources.news.take()
    }

    /// Returns what was counted since the last call.
    pub fn take_counts(&mut self) -> ReceiveCounts {
        let SequenceCounts {
            duplicates,
            late,
            strays,
            lost,
        } = self.sequence.counts();
        let all = ReceiveCounts {
            duplicates,
            late: late + self.late,
            foreign_types: self.foreign_types,
            foreign_sources: self.foreign_sources,
            strays,
            malformed: self.malformed,
            lost,
        };
        let told = std::mem::replace(&mut self.told, all);
        ReceiveCounts {
            duplicates: all.duplicates - told.duplicates,
            late: all.late - told.late,
            foreign_types: all.foreign_types - told.foreign_types,
            foreign_sources: all.foreign_sources - told.foreign_sources,
            strays: all.strays - told.strays,
            malformed: all.malformed - told.malformed,
            lost: all.lost - told.lost,
        }
    }
}

impl Types {
    fn new(listed: &[u8]) -> Self {
        Self {
            listed: listed.to_vec(),
            present: listed.first().copied(),
            settled: false,
            began: None,
            others: Vec::new(),
            kept: VecDeque::new(),
            kept_bytes: 0,
        }
    }

    fn judge(&mut self, payload_type: u8) -> ByType {
        let described = *self.listed.first().unwrap_or(self.present.get_or_insert(payload_type));
        if payload_type == described {
            self.settled = true;
            self.present = Some(described);
            return ByType::Counts;
        }
        if self.present == Some(payload_type) {
            return ByType::Counts;
        }
        match self.settled || self.present != Some(described) {
            true => ByType::Foreign,
            false => ByType::Kept,
        }
    }

    /// Keeps a packet. Returns the number of older ones that were dropped for it.
    fn keep(&mut self, now: Duration, payload_type: u8, label: Label, packet: Bytes) -> u64 {
        self.began.get_or_insert(now);
        match self.others.iter().position(|(other, _)| *other == payload_type) {
            Some(at) => self.others[at].1 += 1,
            None if self.others.len() < MAX_OTHER_TYPES => self.others.push((payload_type, 1)),
            None => {}
        }
        self.kept_bytes += packet.len();
        self.kept.push_back((now, payload_type, label, packet));
        let mut dropped = 0;
        while self.is_full()
            && self.alone().is_none()
            && let Some((.., first)) = self.kept.pop_front()
        {
            self.kept_bytes -= first.len();
            dropped += 1;
        }
        dropped
    }

    fn is_full(&self) -> bool {
        self.kept.len() > MAX_KEPT || self.kept_bytes > MAX_KEPT_BYTES
    }

    /// The only other type that came, or else the only one of those that is described.
    fn alone(&self) -> Option<u8> {
        if let [(only, _)] = self.others[..] {
            return Some(only);
        }
        let mut listed = self.others.iter().filter(|(other, _)| self.listed.contains(other));
        listed
            .next()
            .filter(|_| listed.next().is_none())
            .map(|(other, _)| *other)
    }

    /// Returns the packets of another type with the times at which they came, if that counts from now on.
    fn choose(&mut self, now: Duration) -> Vec<(Duration, Label, Bytes)> {
        let began = self.began.unwrap_or(now);
        let Some(alone) = self.alone() else { return Vec::new() };
        let came = self.others.iter().map(|(_, count)| count).sum::<u64>();
        if !self.is_full() && (came < TYPE_PACKETS || now.saturating_sub(began) < TYPE_PATIENCE) {
            return Vec::new();
        }
        self.present = Some(alone);
        self.kept_bytes = 0;
        let kept = std::mem::take(&mut self.kept).into_iter();
        let kept = kept.filter(|(_, payload_type, ..)| *payload_type == alone);
        kept.map(|(then, _, label, packet)| (then, label, packet)).collect()
    }

    /// Forgets what was kept. Returns the number of packets.
    fn forget_kept(&mut self) -> u64 {
        let count = self.kept.len() as u64;
        if count > 0 {
            (self.kept, self.kept_bytes) = (VecDeque::new(), 0);
        }
        count
    }
}

impl Sources {
    fn judge(&mut self, now: Duration, source: u32) -> BySource {
        let Some(present) = self.present.filter(|present| *present != source) else {
            self.heard = now;
            return BySource::Counts;
        };
        if self.refused == Some(source) {
            if now.saturating_sub(self.heard) < RETURN_PATIENCE {
                return BySource::Foreign;
            }
            self.refused = None;
        }
        if let Some((former, since, returned)) = &mut self.former
            && *former == source
            && now.saturating_sub(*since) < RETURN_PATIENCE
        {
            *returned += 1;
            if *returned < RETURNS {
                return BySource::Late;
            }
            (self.present, self.former, self.heard) = (Some(source), None, now);
            self.refuse(source, present);
            return BySource::Returns;
        }
        match &mut self.other {
            Some((other, count)) if *other == source => *count += 1,
            other => *other = Some((source, 1)),
        }
        if self.other == Some((source, AMONG)) {
            self.refuse(present, source);
            return BySource::Foreign;
        }
        BySource::Counts
    }

    fn refuse(&mut self, stays: u32, refused: u32) {
        self.other = None;
        self.refused = Some(refused);
        self.news = Some((stays, refused));
    }

    /// Notes which source counts.
    fn took_over(&mut self, now: Duration, source: Option<u32>) {
        if source != self.present {
            if let Some(former) = self.present {
                self.former = Some((former, now, 0));
            }
            (self.present, self.other, self.heard) = (source, None, now);
        }
    }
}

#[cfg(test)]
#[path = "receive_tests.rs"]
mod tests;
