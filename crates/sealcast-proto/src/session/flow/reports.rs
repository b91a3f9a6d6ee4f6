//! What the viewer tells of what has come: which numbers, and when.

use std::time::Duration;

use crate::wire::{Feedback, MAX_RECEIVED_BYTES};

/// A report is due so long after the last one, while media comes.
const INTERVAL: Duration = Duration::from_millis(20);
/// Where nothing follows at once, a report that is due so soon leaves at once: 60 pictures a second have one each.
const EARLY: Duration = Duration::from_micros(3500);
/// A report that is due waits so long for a record to leave with, which spares waking up for it.
const PATIENCE: Duration = Duration::from_millis(5);
/// Or it is due after so many records.
const RECORDS: u32 = 64;
/// The last report may be lost, and the publisher wait for it: it is repeated so far apart, and so often. The next
/// picture's comes before at 25 a second.
const REPEAT_INTERVAL: Duration = Duration::from_millis(45);
const REPEATS: u8 = 8;
/// Numbers whose arrival is remembered; at least the bits of a report.
const REMEMBERED: u64 = 2048;

/// When to report, and what.
#[derive(Default)]
pub(super) struct Reports {
    arrivals: Arrivals,
    /// From when on a record takes the report with it, and by when it leaves without one.
    due: Duration,
    by: Option<Duration>,
    /// When the last report was made, and when the last record came.
    reported: Duration,
    came: Duration,
    unreported: u32,
    repeats: u8,
}

impl Reports {
    /// The highest number that came.
    pub(super) fn highest(&self) -> Option<u64> {
        self.arrivals.highest.map(|(highest, _)| highest)
    }

    /// A record came, whatever number it has.
    pub(super) fn came(&mut self, now: Duration) {
        if self.unreported == 0 {
            // After a pause others follow, which had better be in the same report.
            let next = self.reported + INTERVAL;
            self.due = if next > now { next } else { now + INTERVAL };
            self.by = Some(self.due + PATIENCE);
        }
        self.came = now;
        self.unreported += 1;
    }

    /// `number` came, at `wall` on the wall clock.
    pub(super) fn mark(&mut self, number: u64, wall: u64) {
        self.arrivals.mark(number, wall);
    }

    /// Nothing follows at once.
    pub(super) fn pauses(&mut self, now: Duration) {
        if self.unreported > 0 && now + EARLY >= self.reported + INTERVAL {
            self.by = Some(now);
        }
    }

    /// The report that is due, if one is; its bitmap is put into `bits`. A viewer with this `budget` makes it.
    pub(super) fn due<'a>(&mut self, now: Duration, budget: Duration, bits: &'a mut Vec<u8>) -> Option<Feedback<'a>> {
        let with_record = self.unreported > 0 && self.came == now && self.due <= now;
        let due = with_record || self.unreported >= RECORDS || self.deadline() <= now;
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

    /// When a report is to be made even if nothing comes; `Duration::MAX` for never.
    pub(super) fn deadline(&self) -> Duration {
        self.by.unwrap_or(Duration::MAX)
    }
}

/// Which numbers have come.
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

    /// Whether a report is made at this time; a record comes first if `comes`.
    fn reports(reports: &mut Reports, now: Duration, number: Option<u64>) -> bool {
        if let Some(number) = number {
            reports.came(now);
            reports.mark(number, 1);
        }
        reports.due(now, MS, &mut Vec::new()).is_some()
    }

    #[test]
    fn a_report_leaves_with_a_record_where_one_comes_in_time() {
        let mut some = Reports::default();
        let made = (0..100).filter(|at| reports(&mut some, 1000 * MS + *at * 4 * MS, Some((*at).into())));
        let made: Vec<u32> = made.collect();
        assert_eq!(made, (5..100).step_by(5).collect::<Vec<_>>(), "every 20 ms");
        assert!(!reports(&mut some, 1384 * MS, Some(100)));
        assert_eq!(some.deadline(), 1405 * MS, "5 ms longer than 20 after the last");
        assert!(!reports(&mut some, 1404 * MS, None), "it waits for a record");
        assert!(reports(&mut some, 1405 * MS, None), "none came");
    }

    #[test]
    fn where_nothing_follows_a_report_leaves_at_once_but_not_too_often() {
        let mut some = Reports::default();
        for picture in 1..20_u64 {
            let now = picture as u32 * 40 * MS;
            let early = (0..20).any(|packet| reports(&mut some, now, Some(picture * 20 + packet)));
            assert!(!early, "the picture goes on");
            some.pauses(now + MS);
            assert!(reports(&mut some, now + MS, None));
            assert!(
                some.deadline() > now + 40 * MS,
                "nothing to wake up for before the next"
            );
        }
        let last = 19 * 40 * MS + MS;
        assert!(!reports(&mut some, last + 10 * MS, Some(1000)));
        some.pauses(last + 10 * MS);
        assert!(!reports(&mut some, last + 10 * MS, None), "one was made 10 ms ago");
    }

    #[test]
    fn the_last_report_is_repeated_for_a_while() {
        let mut some = Reports::default();
        assert!(!reports(&mut some, 1000 * MS, Some(0)));
        let mut times = Vec::new();
        while some.deadline() < Duration::MAX {
            let now = some.deadline();
            assert!(reports(&mut some, now, None));
            times.push(now);
        }
        let apart: Vec<Duration> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(times[0], 1025 * MS);
        assert_eq!(apart, [REPEAT_INTERVAL; REPEATS as usize]);
    }
}
