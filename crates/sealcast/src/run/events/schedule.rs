//! When events are to be shown.

use std::collections::VecDeque;
use std::time::Duration;

use sealcast_proto::sim::Random;

/// Events are announced this far ahead, so that a display shows them on time although it asks only twice a second.
const AHEAD_US: u64 = 3_000_000;
/// A display that says it showed an event this much before or after its time, µs, has another idea of the time.
const LATE_US: u64 = 10_000_000;
/// Maximum of events that are remembered because they may still be reported.
const MAX_REMEMBERED: usize = 256;

/// Meaning of a report of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The event was shown.
    First,
    /// It was reported before.
    Again,
    /// There is no such event, or not at such a time.
    Never,
}

struct Event {
    number: u32,
    due: u64,
    shown: bool,
}

/// Events at random times: one in each period, up to a quarter of it early or late. A fixed period could keep step with
/// a camera's frames, and then all events would fall on the same point of a frame.
pub struct Schedule {
    events: VecDeque<Event>,
    period: u64,
    /// Middle of the next event's time, µs since 1970.
    next: u64,
    number: u32,
    random: Random,
}

impl Schedule {
    /// A schedule that begins one period after `now`, a wall clock in µs.
    pub fn new(now: u64, period: Duration, seed: u64) -> Self {
        let period = u64::try_from(period.as_micros()).unwrap_or(AHEAD_US).max(1);
        Self {
            events: VecDeque::new(),
            period,
            next: now + period,
            number: 0,
            random: Random::new(seed),
        }
    }

    fn extend(&mut self, now: u64) {
        // After the machine slept nobody needs what was missed.
        if self.next + AHEAD_US < now {
            self.next = now;
        }
        while self.next < now + AHEAD_US {
            self.number = self.number.wrapping_add(1).max(1);
            let quarter = self.period / 4;
            let due = self.next - quarter + self.random.uniform(0..2 * quarter + 1);
            if self.events.len() == MAX_REMEMBERED {
                self.events.pop_front();
            }
            self.events.push_back(Event {
                number: self.number,
                due,
                shown: false,
            });
            self.next += self.period;
        }
    }

    /// Numbers and times of the events that a display does not have to forget yet: the last one and those to come.
    pub fn upcoming(&mut self, now: u64) -> Vec<(u32, u64)> {
        self.extend(now);
        let past = self.events.iter().rposition(|event| event.due <= now).unwrap_or(0);
        let events = self.events.iter().skip(past);
        events.map(|event| (event.number, event.due)).collect()
    }

    /// Take note of a display's report. `shown` and `now` are wall clocks in µs.
    pub fn take_shown(&mut self, number: u32, shown: u64, now: u64) -> Shown {
        let event = self.events.iter_mut().find(|event| event.number == number);
        let Some(event) = event.filter(|event| event.due.abs_diff(shown) < LATE_US && shown < now + LATE_US) else {
            return Shown::Never;
        };
        match std::mem::replace(&mut event.shown, true) {
            false => Shown::First,
            true => Shown::Again,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_800_000_000_000_000;

    #[test]
    fn every_event_has_its_own_number_and_time_in_order() {
        let mut schedule = Schedule::new(START, Duration::from_millis(200), 1);
        let mut seen: Vec<(u32, u64)> = Vec::new();
        for step in 0..1000 {
            let upcoming = schedule.upcoming(START + step * 500_000);
            assert!(upcoming.len() <= 18, "{}", upcoming.len());
            let last = seen.last().map_or(0, |event| event.0);
            seen.extend(upcoming.iter().filter(|event| event.0 > last));
        }
        let numbers: Vec<u32> = seen.iter().map(|event| event.0).collect();
        assert_eq!(numbers, (1..=seen.len() as u32).collect::<Vec<_>>());
        let gaps: Vec<u64> = seen.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
        assert!(gaps.iter().all(|gap| (100_000..=300_000).contains(gap)));
        let distinct: std::collections::BTreeSet<u64> = gaps.iter().map(|gap| gap / 10_000).collect();
        assert!(distinct.len() > 15, "the phase is random: {distinct:?}");
    }

    #[test]
    fn an_event_is_shown_once_and_at_its_time() {
        let mut schedule = Schedule::new(START, Duration::from_secs(1), 2);
        let (number, due) = schedule.upcoming(START)[0];
        for (event, at) in [(number + 9, due), (0, due), (number, due + 20_000_000), (number, 0)] {
            assert_eq!(schedule.take_shown(event, at, due), Shown::Never);
        }
        assert_eq!(schedule.take_shown(number, due + 5, due), Shown::First);
        assert_eq!(schedule.take_shown(number, due + 5, due), Shown::Again);
    }

    #[test]
    fn a_machine_that_slept_goes_on_with_the_next_event() {
        let mut schedule = Schedule::new(START, Duration::from_secs(1), 3);
        let before = schedule.upcoming(START).last().expect("events").0;
        let later = START + 3_600_000_000;
        let after = schedule.upcoming(later);
        assert!(
            after.len() <= 6 && after.iter().any(|event| event.0 == before + 1),
            "{after:?}"
        );
        assert!(after.iter().skip(1).all(|event| event.1 > later - 1_000_000));
    }
}
