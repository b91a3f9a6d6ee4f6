//! Ratio of what one system takes of something to what another takes, from rounds in which both had a turn.

/// The ratio of two systems, by the signed ranks of the logarithms of the rounds' own ratios (Wilcoxon; Hodges and
/// Lehmann). Its limits hold for few rounds and with some wild ones among them, where a bootstrap of few rounds is too
/// narrow: they ask only that a round is as likely off to one side as to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric means of all pairs of rounds, and of each round with itself, in order.
    means: Vec<f64>,
    /// Number of rounds.
    pub rounds: usize,
}

impl Ratio {
    /// From the ratio of each round, above 0; `None` without a round.
    pub(crate) fn of(rounds: &[f64]) -> Option<Self> {
        let pairs = rounds.iter().enumerate();
        let mut means: Vec<f64> = pairs
            .flat_map(|(at, a)| rounds[at..].iter().map(move |b| (a * b).sqrt()))
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        (!means.is_empty()).then_some(Self {
            means,
            rounds: rounds.len(),
        })
    }

    /// The ratio: the middle of the means.
    pub fn middle(&self) -> f64 {
        let all = &self.means;
        f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2])
    }

    /// Limit that the true ratio is not above, with this confidence, such as 0.95; `None` if there are too few rounds:
    /// 5 for 95 %, 7 for 99 %.
    pub fn at_most(&self, confidence: f64) -> Option<f64> {
        let outside = self.outside(confidence)?;
        self.means.iter().rev().nth(outside).copied()
    }

    /// Limit that it is not below, likewise.
    pub fn at_least(&self, confidence: f64) -> Option<f64> {
        let outside = self.outside(confidence)?;
        self.means.get(outside).copied()
    }

    /// The number of means beyond a limit of this confidence. If the true ratio is 1, the sum of the ranks of rounds
    /// above it has the distribution of the sum of a random set of the ranks.
    fn outside(&self, confidence: f64) -> Option<usize> {
        let mut sums = vec![1.0];
        for rank in 1..=self.rounds {
            let mut with = vec![0.0; sums.len() + rank];
            for (sum, share) in sums.iter().enumerate() {
                with[sum] += share / 2.0;
                with[sum + rank] += share / 2.0;
            }
            sums = with;
        }
        let mut left = 1.0 - confidence;
        let beyond = sums.iter().take_while(|share| {
            left -= **share;
            left >= 0.0
        });
        beyond.count().checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;

    /// Rounds of a system that takes `times` as much as another: some per cent apart, and one in ten far off.
    fn rounds(random: &mut Random, times: f64, count: usize) -> Vec<f64> {
        let round = |random: &mut Random| {
            let spread = if random.chance(0.1) { 0.2 } else { 0.02 };
            let even: f64 = (0..12).map(|_| random.uniform(0..1_000_000) as f64 * 1e-6 - 0.5).sum();
            times * (even * spread).exp()
        };
        (0..count).map(|_| round(random)).collect()
    }

    fn share(of: usize, is_so: impl FnMut(usize) -> bool) -> f64 {
        (0..of).map(is_so).filter(|so| *so).count() as f64 / of as f64
    }

    #[test]
    fn the_limit_holds_in_95_of_100_measurements_however_few_the_rounds() {
        let mut random = Random::new(1);
        for count in [5, 6, 7, 15, 40] {
            for at_most in [true, false] {
                let holds = share(2000, |_| {
                    let ratio = Ratio::of(&rounds(&mut random, 1.04, count)).expect("rounds");
                    match at_most {
                        true => ratio.at_most(0.95).expect("a limit") >= 1.04,
                        false => ratio.at_least(0.95).expect("a limit") <= 1.04,
                    }
                });
                assert!((0.935..0.985).contains(&holds), "{count} rounds: {holds}");
            }
        }
    }

    #[test]
    fn limits_of_known_rounds_are_those_of_the_published_tables() {
        // Wilcoxon's one-sided critical values at 5 %: 0, 2, 3, 30 and 60 for 5, 6, 7, 15 and 20; at 1 %: 0 for 7.
        for (rounds, confidence, critical) in [
            (5, 0.95, Some(0)),
            (6, 0.95, Some(2)),
            (7, 0.95, Some(3)),
            (15, 0.95, Some(30)),
            (20, 0.95, Some(60)),
            (7, 0.99, Some(0)),
            (4, 0.95, None),
            (6, 0.99, None),
        ] {
            let ratio = Ratio::of(&vec![1.0; rounds]).expect("rounds");
            assert_eq!(ratio.outside(confidence), critical, "{rounds} at {confidence}");
        }
        let ratio = Ratio::of(&[1.0, 1.01, 1.02, 1.03, 1.5]).expect("rounds");
        assert_eq!((ratio.at_least(0.95), ratio.at_most(0.95)), (Some(1.0), Some(1.5)));
        assert!(
            (ratio.middle() - 1.02).abs() < 0.001,
            "a wild round does not move it: {ratio:?}"
        );
        assert_eq!(Ratio::of(&[]), None);
    }
}
