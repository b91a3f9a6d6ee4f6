//! One time for the picture and the sound of a camera, from its RTCP sender reports (RFC 3550, section 6.4.1) or else
//! from when both came.

use std::time::Duration;

use super::bounds::MAX_COMPOUND;

/// Largest difference of the camera's times of sound and picture from their arrival at which they are believed, ns.
const PLAUSIBLE: i128 = 500_000_000;
/// A correction below this is the inaccuracy of the camera's reports, ns.
const NOTICEABLE: i128 = 5_000_000;
/// A report that differs by more than this from the one before is of a clock that was set meanwhile, ns.
const CLOCK_SET: i128 = 100_000_000;
/// Seconds of an NTP timestamp are its upper 32 bits.
const NTP_SECOND: u32 = 32;
/// Type of a sender report.
const SENDER_REPORT: u8 = 200;

/// Time of a stream as the camera reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderReport {
    /// Number of the synchronization source (SSRC) that it is about.
    pub source: u32,
    /// The camera's clock: seconds since 1900, with 32 bits of fraction. Never 0.
    pub ntp: u64,
    /// Time by the clock of the stream at this moment.
    pub timestamp: u32,
}

/// The sender reports in a compound packet of RTCP. One that is cut short counts as far as it goes; one without a clock
/// is left out.
pub fn sender_reports(compound: &[u8]) -> impl Iterator<Item = SenderReport> {
    let mut rest = compound;
    let packets = std::iter::from_fn(move || {
        let &[first, kind, high, low, ..] = rest else {
            return None;
        };
        if first >> 6 != 2 {
            return None;
        }
        let length = 4 * (usize::from(u16::from_be_bytes([high, low])) + 1);
        let (packet, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        Some((kind, packet))
    });
    let reports = packets.take(MAX_COMPOUND).filter(|(kind, _)| *kind == SENDER_REPORT);
    reports.filter_map(|(_, packet)| sender_report(packet))
}

fn sender_report(packet: &[u8]) -> Option<SenderReport> {
    let (source, rest) = packet.get(4..)?.split_first_chunk()?;
    let (ntp, rest) = rest.split_first_chunk()?;
    let (timestamp, _) = rest.split_first_chunk()?;
    let report = SenderReport {
        source: u32::from_be_bytes(*source),
        ntp: u64::from_be_bytes(*ntp),
        timestamp: u32::from_be_bytes(*timestamp),
    };
    Some(report).filter(|report| report.ntp != 0)
}

/// Timestamps that do not wrap, in ticks: each is the nearest to the one before, forward or backward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extended {
    last: Option<i64>,
}

impl Extended {
    /// Extends the timestamp of a packet.
    pub fn extend(&mut self, timestamp: u32) -> i64 {
        let ticks = self.near(timestamp);
        self.last = Some(ticks);
        ticks
    }

    /// Extends a timestamp that is only spoken of. Before all packets, the first packet is near it.
    pub fn near(&mut self, timestamp: u32) -> i64 {
        let last = *self.last.get_or_insert(timestamp.into());
        // The lower 32 bits; the difference is signed.
        let distance = timestamp.wrapping_sub(last as u32) as i32;
        last.saturating_add(distance.into())
    }

    /// Forgets the packets before: a new source begins anywhere.
    pub fn reset(&mut self) {
        self.last = None;
    }
}

/// Time of a stream in nanoseconds.
pub fn nanos(ticks: i64, clock_rate: u32) -> i128 {
    i128::from(ticks) * 1_000_000_000 / i128::from(clock_rate.max(1))
}

/// Picture or sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The picture's stream.
    Picture,
    /// The sound's stream.
    Sound,
}

/// Translates the times of the sound into those of the picture.
#[derive(Clone, Debug)]
pub struct SoundClock {
    picture: Stream,
    sound: Stream,
    /// Correction of the sound's times, ns.
    offset: Option<i128>,
}

#[derive(Clone, Debug)]
struct Stream {
    clock_rate: u32,
    extended: Extended,
    /// When the camera's clock said what the stream's says 0, ns since 1900, by its last report.
    reported: Option<i128>,
    /// True if that report was of the source of the packets.
    by_source: bool,
    /// When that moment was here, by the first packet, in ns.
    arrived: Option<i128>,
    /// Timestamp with which the stream begins, as the camera announces it.
    announced: Option<u32>,
}

impl Stream {
    fn new(clock_rate: u32) -> Self {
        Self {
            clock_rate,
            extended: Extended::default(),
            reported: None,
            by_source: false,
            arrived: None,
            announced: None,
        }
    }

    /// Returns the time of a packet in ticks and in ns.
    fn came(&mut self, timestamp: u32, arrived: Duration) -> (i64, i128) {
        let ticks = self.extended.extend(timestamp);
        let time = nanos(ticks, self.clock_rate);
        self.arrived.get_or_insert(arrived.as_nanos() as i128 - time);
        (ticks, time)
    }

    /// The announced begin in ns of the stream; `None` before its first packet.
    fn begins(&mut self) -> Option<i128> {
        self.arrived?;
        let ticks = self.extended.near(self.announced?);
        Some(nanos(ticks, self.clock_rate))
    }

    /// Takes a report. Returns true if the camera's clock was set since the one before.
    fn reported(&mut self, report: &SenderReport, by_source: bool) -> bool {
        if self.by_source && !by_source {
            return false;
        }
        let ntp = (i128::from(report.ntp) * 1_000_000_000) >> NTP_SECOND;
        let ticks = self.extended.near(report.timestamp);
        let reported = ntp - nanos(ticks, self.clock_rate);
        let before = self.reported.replace(reported);
        self.by_source = by_source;
        before.is_some_and(|before| (reported - before).abs() > CLOCK_SET)
    }
}

impl SoundClock {
    /// Begins with the clock rates of the picture's format and of the sound's.
    pub fn new(picture: u32, sound: u32) -> Self {
        Self {
            picture: Stream::new(picture),
            sound: Stream::new(sound),
            offset: None,
        }
    }

    /// Returns the time of a picture with this timestamp that came at this moment, in ticks without wraps. Moments are
    /// those of any clock that is never set.
    pub fn picture(&mut self, timestamp: u32, arrived: Duration) -> i64 {
        self.picture.came(timestamp, arrived).0
    }

    /// Returns the picture's time, in nanoseconds of its stream (as [`nanos`]), at which sound with this timestamp was
    /// made. `None` before the first picture.
    pub fn sound(&mut self, timestamp: u32, arrived: Duration) -> Option<i128> {
        let (_, time) = self.sound.came(timestamp, arrived);
        let by_arrival = self.sound.arrived? - self.picture.arrived?;
        let plausible = |offset: &i128| (offset - by_arrival).abs() <= PLAUSIBLE;
        let reported = self.sound.reported.zip(self.picture.reported);
        let reported = reported.map(|(sound, picture)| sound - picture).filter(plausible);
        // Without reports both streams began together, if the camera says so truly.
        let announced = self.picture.begins().zip(self.sound.begins());
        let announced = announced.map(|(picture, sound)| picture - sound).filter(plausible);
        let begun = announced.unwrap_or(if plausible(&0) { 0 } else { by_arrival });
        let current = self.offset.get_or_insert(reported.unwrap_or(begun));
        if let Some(offset) = reported
            && (*current - offset).abs() > NOTICEABLE
        {
            *current = offset;
        }
        Some(time + *current)
    }

    /// Takes the timestamp with which the camera says that a stream begins.
    pub fn announced(&mut self, side: Side, timestamp: u32) {
        let (stream, _) = self.sides(side);
        stream.announced = Some(timestamp);
        self.offset = None;
    }

    /// Takes the reports of a compound packet of RTCP about one of the streams, whose packets come from `source`. They
    /// are hints: one about another source counts if there is none about this.
    pub fn reported(&mut self, side: Side, compound: &[u8], source: Option<u32>) {
        for report in sender_reports(compound) {
            let (stream, other) = self.sides(side);
            if stream.reported(&report, source == Some(report.source)) {
                // Its reports are of before, and would tell a false distance.
                other.reported = None;
            }
        }
    }

    /// A stream goes on with stamps that have nothing to do with those before: it has a new source, or jumped.
    pub fn restart(&mut self, side: Side) {
        let (stream, _) = self.sides(side);
        *stream = Stream::new(stream.clock_rate);
        self.offset = None;
    }

    fn sides(&mut self, side: Side) -> (&mut Stream, &mut Stream) {
        match side {
            Side::Picture => (&mut self.picture, &mut self.sound),
            Side::Sound => (&mut self.sound, &mut self.picture),
        }
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
