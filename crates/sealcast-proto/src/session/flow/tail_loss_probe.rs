//! When what was sent last should be sent again unasked: nothing follows by which the viewer could tell that it is
//! lost. The timer is QUIC's probe timeout (RFC 9002, section 6.2), with reports in the place of acknowledgements.
//! And the viewer's side of it: which records may come twice for that reason.

use std::collections::VecDeque;
use std::time::Duration;

use super::Path;
use crate::clock::ClockEstimate;
use crate::session::keyring::Repeated;
use crate::wire::Header;

/// What a report takes beyond the round trip at most: they are 20 ms apart (RFC 9002: the peer's max_ack_delay).
const REPORT_SLACK: Duration = Duration::from_millis(30);
/// How many records of the end are sent again, and how far back they may be: behind them there may be repair records.
pub(super) const TAIL: usize = 4;
pub(super) const MAX_TAIL: u64 = 2 * crate::repair::MAX_SOURCES as u64;
/// Records that the viewer remembers as the last before a pause: those of the newest few pauses.
const MAX_PAUSED: usize = 4 * TAIL;
/// The wait doubles no more often than this.
const MAX_STEPS: u32 = 6;

/// What is known of the end of what was sent.
#[derive(Default)]
pub(super) struct TailLossProbe {
    /// One more than the highest number that a report spoke of.
    told: u64,
    /// When the last packet left, while a report on it is awaited.
    since: Option<Duration>,
    /// How often the end was sent again since a report last spoke of all there was: each time the wait doubles. On a
    /// path whose own queue holds reports up, nothing is lost and repetition makes it worse.
    steps: u32,
}

impl TailLossProbe {
    /// The first number of which nothing was told.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    /// A packet left.
    pub(super) fn sent(&mut self, now: Duration) {
        self.since = Some(now);
    }

    /// A report spoke of number `highest`; `end` is one more than the last that the viewer needs.
    pub(super) fn reported(&mut self, highest: u64, end: u64) {
        self.told = self.told.max(highest + 1);
        if self.told >= end {
            *self = Self {
                told: self.told,
                ..Self::default()
            };
        }
    }

    /// When the report on the last packet is overdue; `Duration::MAX` where none is awaited.
    pub(super) fn due(&self, path: Path) -> Duration {
        let spread = path.round_trip.map_or(Duration::ZERO, |trip| trip.variation * 4);
        let wait = path.smoothed() + spread + REPORT_SLACK;
        self.since
            .map_or(Duration::MAX, |since| since.saturating_add(wait * (1 << self.steps)))
    }

    /// The report is overdue, and the end is sent `again` or can no longer be. What leaves next is waited for anew.
    pub(super) fn missed(&mut self, again: bool) {
        self.since = None;
        self.steps = (self.steps + u32::from(again)).min(MAX_STEPS);
    }

    /// Nothing is awaited any more.
    pub(super) fn forget(&mut self) {
        self.since = None;
        self.steps = 0;
    }
}

/// Viewer: the records that the probe may have sent again. They were the newest when nothing followed them for as long
/// as it waits, by the sender's stamps: a viewer that stood still itself sees them and their copies at once.
#[derive(Default)]
pub(super) struct RepeatedTail {
    /// One more than the highest number of a source record, and its sender's stamp.
    next: u64,
    sealed_at: u64,
    /// The source records with the highest numbers, in any order.
    newest: [Option<(u64, Repeated)>; TAIL],
    /// Those that were the newest when a pause began, and how long it was.
    paused: VecDeque<(Repeated, Duration)>,
}

impl RepeatedTail {
    /// A source record with this number was opened.
    pub(super) fn came(&mut self, number: u64, header: Header) {
        if number >= self.next {
            let pause = Duration::from_nanos(header.timestamp.saturating_sub(self.sealed_at));
            if pause >= REPORT_SLACK {
                let ended = self.newest.iter().flatten().map(|(_, record)| (*record, pause));
                self.paused.extend(ended);
                let old = self.paused.len().saturating_sub(MAX_PAUSED);
                self.paused.drain(..old);
            }
            (self.next, self.sealed_at) = (number + 1, header.timestamp);
        }
        let oldest = self
            .newest
            .iter_mut()
            .min_by_key(|place| place.map(|(number, _)| number));
        if let Some(oldest) = oldest.filter(|place| place.is_none_or(|(older, _)| older < number)) {
            *oldest = Some((number, Repeated::of(header)));
        }
    }

    /// How many copies of `record` the sender may have made unasked by `wall` on our clock. It keeps what it sent for
    /// as long as `kept`, and `clock` is its clock, as far as that is known.
    pub(super) fn copies(&self, record: Repeated, wall: u64, clock: Option<ClockEstimate>, kept: Duration) -> u32 {
        // The sender's timer is a round trip longer. What is known of its clock is known to half of the shortest one.
        let wait = REPORT_SLACK + Duration::from_nanos(clock.map_or(0, |clock| clock.uncertainty));
        let probes = |quiet| probes(quiet, wait, kept);
        let ended = self.paused.iter().filter(|(paused, _)| *paused == record);
        let ended = ended.map(|(_, pause)| probes(*pause)).max();
        let newest = self.newest.iter().flatten().any(|(_, newest)| *newest == record);
        let lasts = newest.then(|| {
            clock.map_or(1, |clock| {
                let theirs = wall.saturating_add_signed(clock.offset);
                probes(Duration::from_nanos(theirs.saturating_sub(self.sealed_at)))
            })
        });
        ended.max(lasts).unwrap_or(0)
    }
}

/// How many probes there may be of the same records where nothing new was sealed for `quiet`. The first leaves no
/// earlier than `wait` after the last record, and each later one waits twice as long; none leaves when what it would
/// repeat is no longer `kept`.
fn probes(quiet: Duration, wait: Duration, kept: Duration) -> u32 {
    let quiet = quiet.min(kept + wait);
    let waits = u32::try_from(quiet.as_micros() / wait.as_micros()).unwrap_or(u32::MAX);
    waits.checked_ilog2().map_or(0, |doubled| doubled + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Flags, Kind};

    const MS: Duration = Duration::from_millis(1);
    const KEPT: Duration = Duration::from_secs(2);
    /// Our clock is 1 s behind theirs, give or take 20 ms.
    const CLOCK: ClockEstimate = ClockEstimate {
        offset: 1_000_000_000,
        uncertainty: 20_000_000,
    };

    /// The header of record `seq`, sealed so many milliseconds after the first.
    fn header(seq: u32, sealed_at: u64) -> Header {
        Header {
            kind: Kind::Media,
            flags: Flags::frame(true, true, true),
            epoch: 0,
            stream: 1,
            seq,
            timestamp: 1_000_000_000 + sealed_at * 1_000_000,
        }
    }

    /// How many copies there may be of each of the first `count` records, so many milliseconds after the first.
    fn copies(tail: &RepeatedTail, count: u32, now: u64) -> Vec<u32> {
        let record = |seq| Repeated::of(header(seq, 0));
        let copies = |seq| tail.copies(record(seq), now * 1_000_000, Some(CLOCK), KEPT);
        (0..count).map(copies).collect()
    }

    #[test]
    fn each_probe_waits_twice_as_long() {
        let probes = |quiet| probes(MS * quiet, MS * 50, KEPT);
        assert_eq!([0, 49, 50, 99, 100, 199, 200].map(probes), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(probes(2_000), probes(1_000_000), "then nothing is repeated any more");
    }

    #[test]
    fn the_newest_four_may_come_again_once_nothing_has_followed_for_long_enough() {
        let mut tail = RepeatedTail::default();
        for seq in [0, 1, 3, 2, 5, 4] {
            tail.came(seq.into(), header(seq, 0));
        }
        assert_eq!(copies(&tail, 6, 20), [0; 6]);
        assert_eq!(copies(&tail, 6, 60), [0, 0, 1, 1, 1, 1]);
        assert_eq!(copies(&tail, 6, 120), [0, 0, 2, 2, 2, 2]);
    }

    #[test]
    fn they_may_still_come_again_when_others_have_followed_after_a_pause() {
        let mut tail = RepeatedTail::default();
        for seq in 0..6 {
            tail.came(seq.into(), header(seq, 0));
        }
        for seq in 6..30 {
            tail.came(seq.into(), header(seq, 70));
        }
        assert_eq!(copies(&tail, 6, 75), [0, 0, 1, 1, 1, 1]);
        for seq in 30..60 {
            tail.came(seq.into(), header(seq, 70 + u64::from(seq - 30) * 100));
        }
        assert_eq!(copies(&tail, 6, 4_000), [0; 6], "that is long ago");
    }

    #[test]
    fn nothing_of_a_steady_stream_comes_again() {
        let mut tail = RepeatedTail::default();
        for seq in 0..100 {
            tail.came(seq.into(), header(seq, u64::from(seq) * 17));
            assert!(
                copies(&tail, 100, u64::from(seq) * 17 + 20)
                    .iter()
                    .all(|copies| *copies == 0)
            );
        }
    }
}
