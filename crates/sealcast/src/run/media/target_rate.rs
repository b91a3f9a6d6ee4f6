//! The bit rate of a source that all viewers share: that of the slowest path, except that no viewer alone may hold
//! back the others.
//!
//! A viewer that reports nothing does not set the rate. Neither does one whose path has always kept up; what that is
//! known to carry only counts where others are compared. One whose path carries far less than those of the others for
//! some time *stays behind*: it does not set the rate either, and gets what its path carries of it, in whole groups of
//! pictures. Such a viewer may be hostile, or sit behind a bad link; the others cannot tell, and need not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A viewer is far behind while its target is below the median of the others' divided by this.
const FAR_BEHIND: u64 = 4;
/// Time far behind, in sum, after which a viewer stays behind. Time in which it keeps up is subtracted, so that a
/// viewer cannot avoid that by keeping up for a moment now and then, and only one that keeps up for as long counts
/// again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Rate that a viewer's path carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathTarget {
    /// Bit/s.
    pub(crate) rate: u64,
    /// True if the viewer reports what arrives.
    pub(crate) reported: bool,
    /// True if the path carries no more. Otherwise it carries at least that, and asks nothing of the source.
    pub(crate) limits: bool,
}

impl PathTarget {
    /// The path carries this rate and no more, as far as is known.
    pub(crate) fn most(rate: u64, reported: bool) -> Self {
        Self {
            rate,
            reported,
            limits: true,
        }
    }

    /// The path has always kept up, and carries at least this rate.
    pub(crate) fn at_least(rate: u64) -> Self {
        Self {
            rate,
            reported: true,
            limits: false,
        }
    }
}

struct Viewer {
    path: PathTarget,
    /// Time far behind, less the time in which it kept up: zero to [`PATIENCE`].
    behind: Duration,
    stays_behind: bool,
}

impl Viewer {
    fn counts(&self) -> bool {
        self.path.reported && !self.stays_behind
    }
}

/// The viewers that have stated a target, by number.
#[derive(Default)]
pub(crate) struct TargetRate {
    viewers: BTreeMap<u64, Viewer>,
    settled: Option<Instant>,
}

impl TargetRate {
    /// Set the target of a viewer; `None` if its path's capacity is unknown.
    pub(crate) fn state(&mut self, now: Instant, id: u64, path: Option<PathTarget>) {
        self.settle(now);
        match (path, self.viewers.get_mut(&id)) {
            (None, _) => drop(self.viewers.remove(&id)),
            (Some(path), Some(viewer)) => viewer.path = path,
            (Some(path), None) => {
                let viewer = Viewer {
                    path,
                    behind: Duration::ZERO,
                    stays_behind: false,
                };
                self.viewers.insert(id, viewer);
            }
        }
    }

    /// The target of the source, in bit/s; `None` if no viewer limits it. If none counts, the slowest decides: there is
    /// nobody whom that would hold back.
    pub(crate) fn target(&self) -> Option<u64> {
        let some_count = self.viewers.values().any(Viewer::counts);
        let limiting = |viewer: &&Viewer| viewer.path.limits && (viewer.counts() || !some_count);
        let limits = self.viewers.values().filter(limiting);
        limits.map(|viewer| viewer.path.rate).min()
    }

    /// True if the viewer stays behind others. One that reports nothing for some time does, because its target falls.
    pub(crate) fn stays_behind(&self, id: u64) -> bool {
        let others_count = self.viewers.values().any(Viewer::counts);
        others_count && self.viewers.get(&id).is_some_and(|viewer| viewer.stays_behind)
    }

    /// Account for the time since the last call, in which nothing has changed.
    fn settle(&mut self, now: Instant) {
        let before = self.settled.replace(now).unwrap_or(now);
        let time = now.saturating_duration_since(before);
        // Nobody else is compared: a median costs a look at all viewers, of whom each states its target often.
        let limited = self
            .viewers
            .iter()
            .map(|(&id, viewer)| viewer.path.limits.then_some(id));
        let medians: Vec<Option<u64>> = limited.map(|id| self.median_of_others(id?)).collect();
        for (viewer, median) in self.viewers.values_mut().zip(medians) {
            let far_behind = median.is_some_and(|median| viewer.path.rate < median / FAR_BEHIND);
            viewer.behind = if far_behind {
                (viewer.behind + time).min(PATIENCE)
            } else {
                viewer.behind.saturating_sub(time)
            };
            viewer.stays_behind = match viewer.behind {
                PATIENCE => true,
                Duration::ZERO => false,
                _ => viewer.stays_behind,
            };
        }
    }

    /// The median of the targets of all other viewers that report; of two in the middle the higher, so that slow
    /// viewers decide only where they are more than half of the others.
    fn median_of_others(&self, id: u64) -> Option<u64> {
        let others = self
            .viewers
            .iter()
            .filter(|(other, viewer)| **other != id && viewer.path.reported);
        let mut rates: Vec<u64> = others.map(|(_, viewer)| viewer.path.rate).collect();
        rates.sort_unstable();
        rates.get(rates.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: u64 = 4_000_000;
    const SLOW: u64 = 300_000;

    /// Viewers on a virtual clock.
    struct Viewers {
        rate: TargetRate,
        now: Instant,
    }

    impl Viewers {
        fn new() -> Self {
            Self {
                rate: TargetRate::default(),
                now: Instant::now(),
            }
        }

        fn state(&mut self, id: u64, rate: u64, reported: bool) {
            self.rate.state(self.now, id, Some(PathTarget::most(rate, reported)));
        }

        /// Lets these viewers state their targets every 100 ms for a time.
        fn run(&mut self, milliseconds: u64, targets: &[(u64, u64)]) -> Option<u64> {
            for _ in 0..milliseconds / 100 {
                self.now += Duration::from_millis(100);
                for &(id, rate) in targets {
                    self.state(id, rate, true);
                }
            }
            self.rate.target()
        }
    }

    #[test]
    fn the_slowest_of_paths_that_are_alike_decides_and_one_alone_always_does() {
        let mut viewers = Viewers::new();
        assert_eq!(viewers.rate.target(), None);
        assert_eq!(viewers.run(20_000, &[(1, SLOW)]), Some(SLOW));
        assert_eq!(viewers.run(20_000, &[(1, FAST), (2, FAST / 4)]), Some(FAST / 4));
        assert!(!viewers.rate.stays_behind(2));
    }

    #[test]
    fn one_far_below_the_others_holds_them_back_for_five_seconds() {
        for others in [&[(1, FAST)][..], &[(1, FAST), (3, FAST)], &[(1, FAST), (3, SLOW)]] {
            let mut viewers = Viewers::new();
            let targets = [others, &[(2, SLOW)]].concat();
            assert_eq!(viewers.run(5_000, &targets), Some(SLOW));
            assert_eq!(viewers.run(200, &targets), Some(FAST), "{others:?}");
            assert_eq!([1, 2].map(|id| viewers.rate.stays_behind(id)), [false, true]);
        }
    }

    #[test]
    fn who_keeps_up_for_a_moment_now_and_then_does_not_count_again() {
        let mut viewers = Viewers::new();
        for _ in 0..2 {
            viewers.run(4_000, &[(1, FAST), (2, SLOW)]);
            viewers.run(500, &[(1, FAST), (2, FAST)]);
        }
        assert!(viewers.rate.stays_behind(2));
        assert_eq!(viewers.run(4_500, &[(1, FAST), (2, FAST - 1)]), Some(FAST));
        assert_eq!(viewers.run(1_000, &[(1, FAST), (2, FAST - 1)]), Some(FAST - 1));
        assert!(!viewers.rate.stays_behind(2));
    }

    #[test]
    fn who_reports_nothing_never_holds_anybody_back() {
        let mut viewers = Viewers::new();
        viewers.state(2, SLOW, false);
        assert_eq!(viewers.rate.target(), Some(SLOW), "it is alone");
        assert!(!viewers.rate.stays_behind(2));
        assert_eq!(viewers.run(100, &[(1, FAST)]), Some(FAST));
        viewers.state(2, FAST / 2, true);
        assert_eq!(viewers.rate.target(), Some(FAST / 2), "it reports again");
        viewers.state(2, FAST / 2, false);
        assert_eq!(viewers.run(100, &[(1, FAST)]), Some(FAST));
        viewers.state(2, SLOW, false);
        assert_eq!(viewers.run(6_000, &[(1, FAST)]), Some(FAST));
        assert!(viewers.rate.stays_behind(2));
        viewers.state(2, SLOW, true);
        assert_eq!(
            viewers.rate.target(),
            Some(FAST),
            "a report does not make its path faster"
        );
    }

    #[test]
    fn when_the_others_leave_the_one_behind_decides_at_once() {
        let mut viewers = Viewers::new();
        viewers.run(6_000, &[(1, FAST), (2, SLOW)]);
        viewers.rate.state(viewers.now, 1, None);
        assert_eq!(viewers.rate.target(), Some(SLOW));
        assert!(!viewers.rate.stays_behind(2));
        viewers.rate.state(viewers.now, 2, None);
        assert_eq!(viewers.rate.target(), None);
    }

    #[test]
    fn who_keeps_up_asks_for_nothing_and_yet_is_not_held_back_by_one_that_does_not() {
        let mut viewers = Viewers::new();
        let keeps_up = |viewers: &mut Viewers, rate| {
            let path = PathTarget::at_least(rate);
            viewers.rate.state(viewers.now, 1, Some(path));
        };
        keeps_up(&mut viewers, FAST);
        assert_eq!(viewers.rate.target(), None);
        assert_eq!(viewers.run(5_000, &[(2, SLOW)]), Some(SLOW), "it has some time");
        assert_eq!(viewers.run(200, &[(2, SLOW)]), None, "then it stays behind");
        assert_eq!([1, 2].map(|id| viewers.rate.stays_behind(id)), [false, true]);
        // What is known to be carried is no limit, however little it is.
        keeps_up(&mut viewers, SLOW / 100);
        viewers.run(20_000, &[(2, FAST)]);
        assert!(!viewers.rate.stays_behind(1));
        assert_eq!(viewers.rate.target(), Some(FAST));
        viewers.rate.state(viewers.now, 2, None);
        assert_eq!(viewers.rate.target(), None);
    }

    #[test]
    fn who_is_a_little_slower_than_one_that_keeps_up_decides() {
        let mut viewers = Viewers::new();
        viewers.rate.state(viewers.now, 1, Some(PathTarget::at_least(FAST)));
        assert_eq!(viewers.run(20_000, &[(2, FAST / 2)]), Some(FAST / 2));
    }

    #[test]
    fn many_slow_viewers_decide_over_few_fast_ones() {
        let mut viewers = Viewers::new();
        let targets = [(1, FAST), (2, SLOW), (3, SLOW), (4, SLOW)];
        assert_eq!(viewers.run(20_000, &targets), Some(SLOW));
    }
}
