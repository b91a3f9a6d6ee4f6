//! When to say in the log what others cause as often as they like: at powers of two, and once a minute.

use std::time::{Duration, Instant};

/// Time after which what goes on is said again, whatever its number.
const PERIOD: Duration = Duration::from_secs(60);

/// Counts events of one kind, and says which of them belong in the log.
#[derive(Clone, Copy, Debug, Default)]
pub struct Telling {
    total: u64,
    told: Option<Instant>,
    /// So many of the first are all said.
    first: u64,
}

impl Telling {
    /// The first so many are said, whenever they happen: each matters where they are few.
    pub fn after(first: u64) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// Counts one more. Returns the total so far if that is to be said: it is one of the first or a power of two, or
    /// nothing was said for a minute.
    pub fn count(&mut self, now: Instant) -> Option<u64> {
        self.total += 1;
        let rested = self
            .told
            .is_none_or(|told| now.saturating_duration_since(told) >= PERIOD);
        if !rested && self.total > self.first && !self.total.is_power_of_two() {
            return None;
        }
        self.told = Some(now);
        Some(self.total)
    }

    /// Number of events so far.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_at_powers_of_two_and_what_goes_on_once_a_minute() {
        let (mut telling, begin) = (Telling::default(), Instant::now());
        let told: Vec<u64> = (0..5000).filter_map(|_| telling.count(begin)).collect();
        assert_eq!(told, (0..13).map(|power| 1 << power).collect::<Vec<_>>());
        let after = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(telling.count(after(59)), None);
        assert_eq!(telling.count(after(60)), Some(5002));
        assert_eq!(telling.count(after(119)), None);
        assert_eq!(telling.count(after(120)), Some(5004));
        assert_eq!(telling.total(), 5004);
    }

    #[test]
    fn the_first_are_told_each_time_where_they_matter() {
        let (mut telling, begin) = (Telling::after(6), Instant::now());
        let told: Vec<u64> = (0..40).filter_map(|_| telling.count(begin)).collect();
        assert_eq!(told, [1, 2, 3, 4, 5, 6, 8, 16, 32]);
    }

    #[test]
    fn what_happens_less_than_once_a_minute_is_told_each_time() {
        let (mut telling, begin) = (Telling::default(), Instant::now());
        let told = (0..100).filter_map(|minute| telling.count(begin + minute * PERIOD));
        assert_eq!(told.count(), 100);
    }
}
