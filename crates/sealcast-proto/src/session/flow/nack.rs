//! The missing numbers, since when each is missing, and when to ask for it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use super::ANSWER_SLACK;

/// Most numbers that are tracked at once; more missing ones mean an outage, and nothing is asked for.
pub(super) const MAX_MISSING: usize = 4096;
/// Minimum lateness of a number before it is asked for, since packets overtake each other.
const LEAST_LATENESS: Duration = Duration::from_millis(2);
/// Maximum lateness of a number before it is asked for.
const MOST_LATENESS: Duration = Duration::from_millis(50);
/// A number counts as missing since the packet before it arrived, but for no longer than this when it is noted: the
/// source may have paused.
const MOST_HINDSIGHT: Duration = Duration::from_millis(40);

pub(super) struct Ask {
    pub(super) since: Duration,
    next: Duration,
    asks: u8,
}

/// Time since which numbers are missing.
#[derive(Clone, Copy)]
pub(super) enum Since {
    /// They belong to a block that is arriving.
    Now,
    /// They should have followed the packet that arrived last.
    LastArrival,
}

/// The missing numbers that are tracked.
pub(super) struct Nacks {
    numbers: BTreeMap<u64, Ask>,
    /// No number must be asked for before this time.
    next: Duration,
    /// Lateness of packets that arrive unasked, a decaying maximum.
    lateness: Duration,
    last_arrival: Duration,
}

impl Nacks {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            numbers: BTreeMap::new(),
            next: Duration::MAX,
            lateness: LEAST_LATENESS,
            last_arrival: now,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn last_arrival(&self) -> Duration {
        self.last_arrival
    }

    /// A packet with `number` arrived. Returns true if it did so unasked.
    pub(super) fn arrived(&mut self, number: u64, now: Duration, round_trip: Duration) -> bool {
        self.last_arrival = now;
        self.lateness -= (self.lateness - LEAST_LATENESS) / 256;
        let Some(ask) = self.numbers.remove(&number) else {
            return true;
        };
        let late = now.saturating_sub(ask.since);
        let by_itself = ask.asks == 0 || late < round_trip * 3 / 4;
        if by_itself {
            self.lateness = self.lateness.max(late).min(MOST_LATENESS);
        }
        by_itself
    }

    /// Note that the numbers of `range` should have arrived. Returns `false` if they are too many to track.
    pub(super) fn note(&mut self, range: Range<u64>, now: Duration, since: Since) -> bool {
        let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        if count > MAX_MISSING - self.numbers.len() {
            return false;
        }
        let since = match since {
            Since::Now => now,
            Since::LastArrival => self.last_arrival.max(now.saturating_sub(MOST_HINDSIGHT)),
        };
        let next = now + self.lateness;
        if count > 0 {
            self.next = self.next.min(next);
        }
        for number in range {
            self.numbers.entry(number).or_insert(Ask { since, next, asks: 0 });
        }
        true
    }

    /// Stop tracking numbers below `expected`.
    pub(super) fn forget_below(&mut self, expected: u64) {
        if self
            .numbers
            .first_key_value()
            .is_some_and(|(&first, _)| first < expected)
        {
            self.numbers = self.numbers.split_off(&expected);
        }
    }

    /// Stop tracking a number that is not needed after all.
    pub(super) fn forget(&mut self, number: u64) {
        self.numbers.remove(&number);
    }

    /// Time at which the first number below `end` went missing. Later numbers went missing no earlier.
    pub(super) fn first_before(&self, end: u64) -> Option<Duration> {
        self.numbers.range(..end).next().map(|(_, ask)| ask.since)
    }

    /// Time at which [`due`](Self::due) must be called next; nothing must be asked for earlier.
    pub(super) fn deadline(&self) -> Duration {
        if self.numbers.is_empty() {
            Duration::MAX
        } else {
            self.next
        }
    }

    /// Collect in `wanted` the numbers to ask for now. `judge` decides about each number that is due.
    pub(super) fn due(
        &mut self,
        now: Duration,
        round_trip: Duration,
        budget: Duration,
        judge: &mut dyn FnMut(u64) -> Due,
        wanted: &mut Vec<u32>,
    ) {
        let mut unneeded = Vec::new();
        let answer = round_trip + ANSWER_SLACK;
        // Time of the last request for a number that went missing at time zero.
        let last_call = budget.saturating_sub(answer);
        self.next = Duration::MAX;
        for (&number, ask) in &mut self.numbers {
            if ask.next > now {
                self.next = self.next.min(ask.next);
                continue;
            }
            match judge(number) {
                Due::Unneeded => {
                    unneeded.push(number);
                    continue;
                }
                Due::Later(at) => ask.next = at.max(now + Duration::from_millis(1)),
                Due::Spare => ask.next = now + answer,
                // The answer would come too late; the frame that waits for it is given up in time.
                Due::Ask if now + round_trip > ask.since + budget => ask.next = Duration::MAX,
                Due::Ask => {
                    let last = ask.since + last_call;
                    wanted.push(number as u32);
                    if ask.asks > 0 && now >= last {
                        // This is the only chance: ask twice.
                        wanted.push(number as u32);
                    }
                    ask.asks = ask.asks.saturating_add(1);
                    // The last request does not wait for the answer to the one before it.
                    ask.next = if now >= last {
                        Duration::MAX
                    } else if ask.asks > 1 {
                        last.min(now + answer)
                    } else {
                        now + answer
                    };
                }
            }
            self.next = self.next.min(ask.next);
        }
        for number in unneeded {
            self.forget(number);
        }
    }
}

/// Decision about a number that is due.
pub(super) enum Due {
    /// Ask for it.
    Ask,
    /// It may still arrive unasked, or be repaired: check again at this time.
    Later(Duration),
    /// The other numbers asked for are enough to repair it.
    Spare,
    /// It is not needed.
    Unneeded,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn ask(missing: &mut Nacks, now: Duration, budget: Duration) -> Vec<u32> {
        let mut wanted = Vec::new();
        missing.due(now, MS * 40, budget, &mut |_| Due::Ask, &mut wanted);
        wanted
    }

    #[test]
    fn a_number_is_asked_for_once_a_round_trip_and_twice_at_the_last_chance() {
        let mut missing = Nacks::new(Duration::ZERO);
        missing.note(5..6, MS, Since::LastArrival);
        assert!(ask(&mut missing, MS, MS * 120).is_empty(), "it may be late");
        assert_eq!(ask(&mut missing, MS * 4, MS * 120), [5]);
        assert!(ask(&mut missing, MS * 49, MS * 120).is_empty());
        assert_eq!(ask(&mut missing, MS * 50, MS * 120), [5]);
        assert_eq!(ask(&mut missing, MS * 74, MS * 120), [5, 5]);
        assert!(ask(&mut missing, MS * 110, MS * 120).is_empty(), "too late");
        assert_eq!(missing.first_before(6), Some(Duration::ZERO));
    }

    #[test]
    fn packets_that_overtake_each_other_teach_patience() {
        let mut missing = Nacks::new(Duration::ZERO);
        for number in 0..100 {
            let now = MS * 10 * number;
            missing.note(u64::from(number)..u64::from(number) + 1, now, Since::Now);
            missing.arrived(u64::from(number), now + MS * 8, MS * 40);
        }
        missing.note(200..201, MS * 2000, Since::Now);
        assert!(ask(&mut missing, MS * 2006, MS * 120).is_empty());
        assert_eq!(ask(&mut missing, MS * 2012, MS * 120), [200]);
    }

    #[test]
    fn an_outage_is_not_asked_for() {
        let mut missing = Nacks::new(Duration::ZERO);
        assert!(!missing.note(0..MAX_MISSING as u64 + 1, MS, Since::Now));
        assert_eq!(missing.deadline(), Duration::MAX);
    }
}
