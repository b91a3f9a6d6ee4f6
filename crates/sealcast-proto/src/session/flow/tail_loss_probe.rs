//! Tail loss probes: the last records are sent again without a request, because no later record may follow that would
//! show the viewer that they are lost. The timer is QUIC's probe timeout (RFC 9002, section 6.2), with feedback reports
//! in place of acknowledgements. The viewer's half knows which records may arrive twice for that reason.

use std::collections::VecDeque;
use std::time::Duration;

use super::Path;
use crate::clock::ClockReading;
use crate::session::keyring::Repeated;
use crate::wire::Header;

/// Maximum time that a report takes beyond the round trip, since reports are 20 ms apart (the peer's max_ack_delay in
/// RFC 9002).
const REPORT_SLACK: Duration = Duration::from_millis(30);
/// Number of last source records that are sent again.
pub(super) const TAIL: usize = 4;
/// Distance of these from the end of the numbers at most: repair records may follow them.
pub(super) const MAX_TAIL: u64 = 2 * crate::repair::MAX_SOURCES as u64;
/// Number of records that the viewer remembers as the last before a pause: those of the newest four pauses.
const MAX_PAUSED: usize = 4 * TAIL;
/// Maximum number of times that the wait doubles.
const MAX_STEPS: u32 = 6;

/// The publisher's half: the timer.
#[derive(Default)]
pub(super) struct TailLossProbe {
    /// One more than the highest number that a report covered.
    told: u64,
    /// Time at which the last packet left, while a report on it is awaited.
    since: Option<Duration>,
    /// Number of times that the tail was sent again since a report last covered everything sent. The wait doubles each
    /// time: on a path whose queue delays the reports nothing is lost, and repetition makes the queue longer.
    steps: u32,
}

impl TailLossProbe {
    /// The first number that no report has covered.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    /// Note that a packet left.
    pub(super) fn sent(&mut self, now: Duration) {
        self.since = Some(now);
    }

    /// Process a report that covers the numbers up to `highest`. `end` is one more than the last number that the viewer
    /// needs.
    pub(super) fn reported(&mut self, highest: u64, end: u64) {
        self.told = self.told.max(highest + 1);
        if self.told >= end {
            *self = Self {
                told: self.told,
                ..Self::default()
            };
        }
    }

    /// Time at which the report on the last packet is overdue; `Duration::MAX` if none is awaited.
    pub(super) fn due(&self, path: Path) -> Duration {
        let spread = path.round_trip.map_or(Duration::ZERO, |trip| trip.variation * 4);
        let wait = path.smoothed() + spread + REPORT_SLACK;
        self.since
            .map_or(Duration::MAX, |since| since.saturating_add(wait * (1 << self.steps)))
    }

    /// Note that the report is overdue. `again` is true if the tail is sent again now. The wait begins anew with the
    /// next packet that leaves.
    pub(super) fn missed(&mut self, again: bool) {
        self.since = None;
        self.steps = (self.steps + u32::from(again)).min(MAX_STEPS);
    }

    /// Stop waiting for a report.
    pub(super) fn forget(&mut self) {
        self.since = None;
        self.steps = 0;
    }
}

/// The viewer's half: the records that a probe may have sent again. These are the records that were the newest when
/// nothing followed for as long as the probe waits. The sender's timestamps measure the pause, because a viewer that
/// was itself suspended receives records and copies at the same time.
#[derive(Default)]
pub(super) struct RepeatedTail {
    /// One more than the highest number of a source record.
    next: u64,
    /// The sender's timestamp of that record.
    sealed_at: u64,
    /// The source records with the highest numbers, in any order.
    newest: [Option<(u64, Repeated)>; TAIL],
    /// The records that were the newest when a pause began, and the length of the pause.
    paused: VecDeque<(Repeated, Duration)>,
}

impl RepeatedTail {
    /// Note that the source record `number` was opened.
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

    /// Number of copies of `record` that the sender may have sent without a request until `wall` on our wall clock.
    /// `clock` is what is known of the sender's clock, if there is one; the sender keeps what it sent for `kept`.
    pub(super) fn copies(&self, record: Repeated, wall: u64, clock: Option<ClockReading>, kept: Duration) -> u32 {
        // The sender waits for the slack and at least one round trip. Only half of the shortest one is added here,
        // since its clock is known to within that: a pause may seem shorter by the other half.
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

/// Maximum number of probes for the same records while nothing new was sealed for `quiet`. The first leaves no earlier
/// than `wait` after the last record, and each later one waits twice as long as the one before. None leaves once the
/// records are no longer `kept`.
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
    /// Our clock is 1 s behind theirs, to within 20 ms.
    const CLOCK: ClockReading = ClockReading {
        offset: 1_000_000_000,
        spread: 0,
        uncertainty: 20_000_000,
    };

    /// The header of record `seq`, sealed `sealed_at` ms after the first.
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

    /// Number of copies that each of the first `count` records may have, `now` ms after the first was sealed.
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
