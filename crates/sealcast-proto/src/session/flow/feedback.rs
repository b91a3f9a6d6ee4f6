//! The viewer's feedback reports: which numbers arrived, and when.

use std::time::Duration;

use crate::wire::{Feedback, MAX_RECEIVED_BYTES};

/// Interval between reports while media arrives.
const INTERVAL: Duration = Duration::from_millis(20);
/// Where no packet is expected to follow at once, a report that is due within this time is sent at once, so that at
/// 60 frames per second each frame gets one.
const EARLY: Duration = Duration::from_micros(3500);
/// A due report waits this long for an arrival to be sent with, which saves a wake-up.
const PATIENCE: Duration = Duration::from_millis(5);
/// A report is also due after this many records.
const RECORDS: u32 = 64;
/// Send a report early after this many records, even if more are queued; one report covers at most twice as many.
const MAX_UNREPORTED: u32 = 512;
/// The last report may be lost while the publisher waits for it: it is repeated at this interval, this many times. At
/// 25 frames per second the next frame's report comes before the first repetition.
const REPEAT_INTERVAL: Duration = Duration::from_millis(45);
const REPEATS: u8 = 8;
/// Numbers whose arrival is remembered; at least as many as a report has bits.
const REMEMBERED: u64 = 2048;

/// Occasion of the check for a due report.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum When {
    /// Any time.
    Overdue,
    /// All messages that had arrived were processed.
    CaughtUp,
    /// The same, and none is expected to follow at once.
    Paused,
}

/// Decides when to report, and builds the reports.
#[derive(Default)]
pub(super) struct Reports {
    arrivals: Arrivals,
    /// From this time on the report is sent with the next arrival; at `by` it is sent without one.
    due: Duration,
    by: Option<Duration>,
    /// Time at which the last report was made.
    reported: Duration,
    unreported: u32,
    repeats: u8,
}

impl Reports {
    /// The highest number that arrived.
    pub(super) fn highest(&self) -> Option<u64> {
        self.arrivals.highest.map(|(highest, _)| highest)
    }

    /// Note that a record arrived, whatever its number.
    pub(super) fn came(&mut self, now: Duration) {
        if self.unreported == 0 {
            // After a pause more records follow; the same report should cover them.
            let next = self.reported + INTERVAL;
            self.due = if next > now { next } else { now + INTERVAL };
            self.by = Some(self.due + PATIENCE);
        }
        self.unreported += 1;
    }

    /// `number` arrived, at `wall` on the wall clock.
    pub(super) fn mark(&mut self, number: u64, wall: u64) {
        self.arrivals.mark(number, wall);
    }

    /// The report that is due, if any; its bitmap is put into `bits`. `budget` is the viewer's.
    pub(super) fn due<'a>(
        &mut self,
        now: Duration,
        when: When,
        budget: Duration,
        bits: &'a mut Vec<u8>,
    ) -> Option<Feedback<'a>> {
        let caught_up = self.unreported > 0 && (self.due <= now || self.unreported >= RECORDS);
        let paused = self.unreported > 0 && now + EARLY >= self.reported + INTERVAL;
        let overdue = self.deadline() <= now || self.unreported >= MAX_UNREPORTED;
        let due = match when {
            When::Overdue => overdue,
            When::CaughtUp => overdue || caught_up,
            When::Paused => overdue || caught_up || paused,
        };
        let (highest, arrived) = self.arrivals.highest.filter(|_| due)?;
        self.repeats = if self.unreported > 0 {
            REPEATS
        } else {
            self.repeats.saturating_sub(1)
        };
        self.by = (self.repeats > 0).then(|| now + REPEAT_INTERVAL);
        self.reported = now;
        self.unreported = 0;
        self.arrivals.bits(bits);
        Some(Feedback {
            highest: highest as u32,
            arrived,
            budget: u16::try_from(budget.as_millis()).unwrap_or(u16::MAX),
            received: bits,
        })
    }

    /// Time at which a report must be sent even if nothing arrives; `Duration::MAX` for never.
    pub(super) fn deadline(&self) -> Duration {
        self.by.unwrap_or(Duration::MAX)
    }
}

/// The numbers that have arrived.
#[derive(Default)]
struct Arrivals {
    highest: Option<(u64, u64)>,
    words: [u64; (REMEMBERED / 64) as usize],
}

impl Arrivals {
    fn mark(&mut self, number: u64, wall: u64) {
        let next = self.highest.map_or(0, |(highest, _)| highest + 1);
        if number >= next {
            for skipped in next.max(number.saturating_sub(REMEMBERED - 1))..=number {
                self.words[slot(skipped)] &= !bit(skipped);
            }
            self.highest = Some((number, wall));
        } else if next - number > REMEMBERED {
            return;
        }
        self.words[slot(number)] |= bit(number);
    }

    fn bits(&self, out: &mut Vec<u8>) {
        out.clear();
        let Some((highest, _)) = self.highest else { return };
        let bytes = highest.div_ceil(8).min(MAX_RECEIVED_BYTES as u64) as usize;
        out.reserve(bytes.next_multiple_of(size_of::<u64>()));
        // Before number 0 the ring is empty.
        let mut end = highest;
        while out.len() < bytes {
            out.extend_from_slice(&self.before(end).reverse_bits().to_le_bytes());
            end = end.wrapping_sub(64);
        }
        out.truncate(bytes);
    }

    /// The 64 numbers before `end`, the lowest in the lowest bit.
    fn before(&self, end: u64) -> u64 {
        let start = end.wrapping_sub(64);
        let (low, high) = (self.words[slot(start)], self.words[slot(end)]);
        match start % 64 {
            0 => low,
            shift => low >> shift | high << (64 - shift),
        }
    }
}

fn slot(number: u64) -> usize {
    ((number / 64) % (REMEMBERED / 64)) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_tells_of_each_number_before_the_highest() {
        for highest in [0_u64, 1, 7, 8, 63, 64, 65, 127, 128, 500, 1023, 1024, 1025, 5000] {
            let came = |number: u64| number == highest || !number.is_multiple_of(3);
            let mut arrivals = Arrivals::default();
            (0..=highest)
                .filter(|&number| came(number))
                .for_each(|number| arrivals.mark(number, 1));
            let mut bits = vec![0xAA; 3];
            arrivals.bits(&mut bits);
            let told = highest.min(MAX_RECEIVED_BYTES as u64 * 8);
            assert_eq!(bits.len() as u64, told.div_ceil(8), "{highest}");
            for at in 0..bits.len() as u64 * 8 {
                let bit = bits[(at / 8) as usize] >> (at % 8) & 1 == 1;
                assert_eq!(bit, at < told && came(highest - 1 - at), "{at} before {highest}");
            }
        }
    }

    const MS: Duration = Duration::from_millis(1);

    fn comes(reports: &mut Reports, now: Duration, number: u64) {
        reports.came(now);
        reports.mark(number, 1);
    }

    fn made(reports: &mut Reports, now: Duration, when: When) -> bool {
        reports.due(now, when, MS, &mut Vec::new()).is_some()
    }

    #[test]
    fn a_report_leaves_with_what_comes_where_something_comes_in_time() {
        let mut reports = Reports::default();
        let mut made_at = Vec::new();
        for number in 0..100_u32 {
            let now = (1000 + number * 4) * MS;
            comes(&mut reports, now, number.into());
            if made(&mut reports, now, When::CaughtUp) {
                made_at.push(number);
            }
        }
        assert_eq!(made_at, (5..100).step_by(5).collect::<Vec<_>>(), "every 20 ms");
        comes(&mut reports, 1384 * MS, 100);
        assert!(!made(&mut reports, 1384 * MS, When::CaughtUp));
        assert_eq!(reports.deadline(), 1405 * MS, "5 ms longer than 20 after the last");
        assert!(
            !made(&mut reports, 1404 * MS, When::Overdue),
            "it waits for something to leave with"
        );
        assert!(made(&mut reports, 1405 * MS, When::Overdue), "nothing came");
    }

    #[test]
    fn where_nothing_follows_a_report_leaves_at_once_but_not_too_often() {
        let mut reports = Reports::default();
        for picture in 1..20_u64 {
            let now = picture as u32 * 40 * MS;
            for packet in 0..20 {
                comes(&mut reports, now, picture * 20 + packet);
                assert!(!made(&mut reports, now, When::CaughtUp), "the picture goes on");
            }
            assert!(made(&mut reports, now + MS, When::Paused));
            assert!(
                reports.deadline() > now + 40 * MS,
                "nothing to wake up for before the next"
            );
        }
        let last = 19 * 40 * MS + MS;
        comes(&mut reports, last + 10 * MS, 1000);
        assert!(
            !made(&mut reports, last + 10 * MS, When::Paused),
            "one was made 10 ms ago"
        );
    }

    #[test]
    fn what_waited_here_is_reported_once_it_is_taken() {
        let mut reports = Reports::default();
        let now = 5000 * MS;
        for number in 0..500 {
            comes(&mut reports, now, number);
            assert!(!made(&mut reports, now, When::Overdue), "more of it waits");
        }
        assert!(made(&mut reports, now, When::CaughtUp), "64 are enough");
        for number in 500..564 {
            comes(&mut reports, now, number);
        }
        assert!(
            made(&mut reports, now, When::Paused),
            "and so they are where a picture ends"
        );
        let told = (0..2000).filter(|number| {
            comes(&mut reports, now, 564 + number);
            made(&mut reports, now, When::Overdue)
        });
        assert_eq!(told.count(), 3, "no record is left out of all reports");
    }

    #[test]
    fn the_last_report_is_repeated_for_a_while() {
        let mut reports = Reports::default();
        comes(&mut reports, 1000 * MS, 0);
        let mut times = Vec::new();
        while reports.deadline() < Duration::MAX {
            let now = reports.deadline();
            assert!(made(&mut reports, now, When::Overdue));
            times.push(now);
        }
        let apart: Vec<Duration> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(times[0], 1025 * MS);
        assert_eq!(apart, [REPEAT_INTERVAL; REPEATS as usize]);
    }
}
