//! How sure a share is. Frames fail together, so whole seconds are resampled, not frames.

use crate::statistics;

/// A second of one run: how many frames there were, and how many of them were as they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Second {
    pub(super) frames: u32,
    pub(super) good: u32,
}

/// The share of good frames; none of none.
pub(super) fn share(seconds: &[Second]) -> f64 {
    let sum = |count: fn(&Second) -> u32| seconds.iter().map(|second| u64::from(count(second))).sum::<u64>() as f64;
    sum(|second| second.good) / sum(|second| second.frames)
}

/// The 95 % interval of the share. Where every frame is alike, resampling shows nothing: then the other end is where
/// chance would show as little once in twenty times, three failures (or successes) in as many frames.
pub(super) fn interval(seconds: &[Second]) -> (f64, f64) {
    let frames: u32 = seconds.iter().map(|second| second.frames).sum();
    let rule_of_three = (3.0 / f64::from(frames.max(1))).min(1.0);
    match share(seconds) {
        whole if whole >= 1.0 => (1.0 - rule_of_three, 1.0),
        none if none <= 0.0 => (0.0, rule_of_three),
        _ => statistics::interval(seconds, |resample| share(resample)),
    }
}

/// The 95 % interval of the difference of two shares, the first less the second.
pub(super) fn difference(a: &[Second], b: &[Second]) -> (f64, f64) {
    statistics::interval_of_two(a, b, |a, b| share(a) - share(b))
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;

    fn seconds(random: &mut Random, share: f64) -> Vec<Second> {
        let good = |random: &mut Random| (0..30).filter(|_| random.chance(share)).count() as u32;
        (0..100)
            .map(|_| Second {
                frames: 30,
                good: good(random),
            })
            .collect()
    }

    #[test]
    fn an_interval_holds_the_share_it_was_drawn_from() {
        let mut random = Random::new(1);
        let holds = (0..40).filter(|_| {
            let (low, high) = interval(&seconds(&mut random, 0.97));
            low <= 0.97 && 0.97 <= high
        });
        assert!(holds.count() >= 34);
    }

    #[test]
    fn a_difference_is_shown_where_there_is_one_and_not_where_there_is_none() {
        let mut random = Random::new(2);
        let (a, b) = (seconds(&mut random, 0.99), seconds(&mut random, 0.90));
        assert!(difference(&a, &b).0 > 0.05);
        let same = (0..40).filter(|_| {
            let (low, high) = difference(&seconds(&mut random, 0.95), &seconds(&mut random, 0.95));
            low <= 0.0 && 0.0 <= high
        });
        assert!(same.count() >= 34);
    }

    #[test]
    fn all_good_is_not_certainty() {
        let all = [Second { frames: 30, good: 30 }; 10];
        assert_eq!(interval(&all), (0.99, 1.0));
    }
}
