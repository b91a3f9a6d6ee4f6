//! The alarm: B is later than it may be, or one of them stands still. It reads no clock.

use std::collections::VecDeque;
use std::time::Duration;

use super::stillness::Stillness;
use crate::meter::statistics::median;

/// The median of this time counts, so that a single late picture raises no alarm.
const WINDOW: Duration = Duration::from_secs(10);
/// Number of pairs in that time, and the time that they span, below which nothing is said.
const ENOUGH: usize = 5;
const SPAN: Duration = Duration::from_secs(4);
/// Maximum of differences in the window: 400 a second.
const MAX_PAIRS: usize = 4096;
/// The alarm is over when the median is below this share of the limit, or else it would come and go.
const OVER: f64 = 0.9;

/// A change of the alarm, with the median of the window in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    Raised(f64),
    /// It is over, after this time.
    Over(f64, Duration),
}

/// Watches differences.
#[derive(Debug)]
pub(super) struct Alarm {
    limit_ms: f64,
    window: VecDeque<(Duration, f64)>,
    raised: Option<Duration>,
    /// Number of times that it was raised.
    pub(super) times: u64,
    /// The greatest median of a window while it was raised, in ms.
    pub(super) greatest: f64,
    /// Which way stands still.
    pub(super) still: Stillness,
}

impl Alarm {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit_ms: limit.as_secs_f64() * 1e3,
            window: VecDeque::new(),
            raised: None,
            times: 0,
            greatest: f64::NEG_INFINITY,
            still: Stillness::new(limit),
        }
    }

    /// Take a difference in ms of a picture of this time.
    pub(super) fn take(&mut self, at: Duration, ms: f64) -> Option<Change> {
        self.window.push_back((at, ms));
        while self
            .window
            .front()
            .is_some_and(|(first, _)| self.window.len() > MAX_PAIRS || *first + WINDOW < at)
        {
            self.window.pop_front();
        }
        let span = at.saturating_sub(self.window.front()?.0);
        if self.window.len() < ENOUGH || span < SPAN {
            return None;
        }
        let mut values: Vec<f64> = self.window.iter().map(|(_, ms)| *ms).collect();
        self.judge(at, median(&mut values))
    }

    fn judge(&mut self, at: Duration, median: f64) -> Option<Change> {
        match self.raised {
            None if median > self.limit_ms => {
                self.raised = Some(at);
                self.times += 1;
                self.greatest = self.greatest.max(median);
                Some(Change::Raised(median))
            }
            Some(since) if median < self.limit_ms * OVER => {
                self.raised = None;
                Some(Change::Over(median, at.saturating_sub(since)))
            }
            Some(_) => {
                self.greatest = self.greatest.max(median);
                None
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes that differences of 25 pictures a second make, each with its second.
    fn changes(ms: impl Fn(u64) -> f64, pictures: u64) -> Vec<(u64, Change)> {
        let mut alarm = Alarm::new(Duration::from_millis(20));
        let taken = (0..pictures).filter_map(|number| {
            let change = alarm.take(Duration::from_millis(40 * number), ms(number))?;
            Some((number / 25, change))
        });
        taken.collect()
    }

    #[test]
    fn it_is_raised_once_and_told_again_when_it_is_over() {
        let late = |number: u64| if (500..1000).contains(&number) { 25.0 } else { 2.0 };
        let changes = changes(late, 2000);
        let [(raised, Change::Raised(25.0)), (over, Change::Over(2.0, lasted))] = changes[..] else {
            panic!("{changes:?}");
        };
        assert_eq!((raised, over, lasted.as_secs()), (25, 45, 20));
    }

    #[test]
    fn single_late_pictures_and_a_delay_at_the_limit_raise_none() {
        assert_eq!(
            changes(|number| if number % 100 == 50 { 5000.0 } else { 1.0 }, 2000),
            []
        );
        assert_eq!(changes(|number| if number < 10 { 5000.0 } else { 1.0 }, 2000), []);
        assert_eq!(changes(|_| 20.0, 2000), []);
        let flickering = changes(|number| if number / 300 % 2 == 0 { 20.5 } else { 19.5 }, 4000);
        assert_eq!(
            flickering.len(),
            1,
            "between the limit and what is over: {flickering:?}"
        );
    }

    #[test]
    fn it_needs_enough_pairs_over_enough_time_and_holds_no_more_than_it_may() {
        assert_eq!(changes(|_| 100.0, 100), []);
        let mut alarm = Alarm::new(Duration::from_millis(20));
        let seconds = (0..8).filter_map(|second| alarm.take(Duration::from_secs(3 * second), 100.0));
        assert_eq!(seconds.count(), 0, "four events in ten seconds are not enough");
        let mut alarm = Alarm::new(Duration::from_millis(20));
        for number in 0..3 * MAX_PAIRS as u64 {
            let _ = alarm.take(Duration::from_micros(number), 1.0);
        }
        assert_eq!(alarm.window.len(), MAX_PAIRS);
    }
}
