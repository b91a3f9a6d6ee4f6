//! Figures of the last frames of a track.

use std::collections::VecDeque;

use super::nanos::Nanos;

/// Number of frames after which a least value begins to be forgotten.
const FRAMES: u32 = 128;

/// Number of intervals of which the usual one is the middle.
const INTERVALS: usize = 9;

/// The least of some hundred values: of those since a round number of them, and of as many before that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Least {
    before: Option<Nanos>,
    current: Option<Nanos>,
    count: u32,
}

impl Least {
    pub(super) fn add(&mut self, value: Nanos) {
        if self.count >= FRAMES {
            *self = Self {
                before: self.current,
                ..Self::default()
            };
        }
        self.current = Some(self.current.map_or(value, |least| least.min(value)));
        self.count += 1;
    }

    /// `None` if there is no value.
    pub(super) fn get(&self) -> Option<Nanos> {
        self.current.into_iter().chain(self.before).min()
    }
}

/// Time from one frame to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals(VecDeque<Nanos>);

impl Intervals {
    pub(super) fn add(&mut self, interval: Nanos) {
        if self.0.len() >= INTERVALS {
            self.0.pop_front();
        }
        self.0.push_back(interval);
    }

    /// The usual one: the middle of the last ones by length. 0 if there is none.
    pub(super) fn usual(&self) -> Nanos {
        let mut sorted = self.0.iter().copied().collect::<Vec<_>>();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_least_value_is_forgotten_after_a_while() {
        let mut least = Least::default();
        assert_eq!(least.get(), None);
        least.add(3);
        let kept = (0..2 * FRAMES).filter(|_| {
            least.add(7);
            least.get() == Some(3)
        });
        assert!((FRAMES..2 * FRAMES).contains(&u32::try_from(kept.count()).expect("few")));
        assert_eq!(least.get(), Some(7));
    }

    #[test]
    fn a_pause_is_no_usual_interval() {
        let mut intervals = Intervals::default();
        assert_eq!(intervals.usual(), 0);
        [40, 40, 9000, 40, 0]
            .into_iter()
            .for_each(|interval| intervals.add(interval));
        assert_eq!(intervals.usual(), 40);
        (0..INTERVALS).for_each(|_| intervals.add(100));
        assert_eq!(intervals.usual(), 100);
    }
}
