//! Number of repair symbols of a block: as few as keep the share of lost blocks below a target.

use super::fec::{MAX_REPAIRS, MAX_SOURCES, max_repairs};

/// Share of blocks that may stay incomplete, unless configured otherwise: one in 2000.
pub const TARGET_FAILURE: f64 = 0.0005;

/// Losses above this share are treated as this share: repair no longer helps there.
const MAX_LOSS: f64 = 0.99;

/// Mantissa bits that [`RepairPolicy`] keeps of a loss and of a burst length. Both are rounded up, by 1/16 at most.
const KEPT_BITS: u32 = 4;

/// Loss of a path, as seen by the packets of a block, which leave back to back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss {
    /// Share of packets lost, 0 to 1. NaN counts as 0.
    pub loss: f64,
    /// Mean number of packets lost in a row. The minimum is that of independent losses, 1 / (1 − `loss`); anything
    /// below counts as that.
    pub mean_burst: f64,
    /// Number of times that a lost packet can be requested again within the latency budget; 0 if nothing is requested
    /// again.
    pub rounds: u32,
}

/// Returns the smallest number of repair symbols with which at most the share `target_failure` of blocks of `sources`
/// records stays incomplete, or [`max_repairs`] if not even those are enough. Returns 0 without loss or without
/// sources. More than [`MAX_SOURCES`] sources count as that many.
///
/// The loss model is Gilbert's: the probability that a packet is lost depends on whether the one before it was. Packets
/// missing after the repair are requested again in each round, and are lost again with probability `loss`,
/// independently because a round trip lies between. A block fails if the number of source records then missing plus the
/// number of repair symbols lost exceeds the number of repair symbols.
pub fn repairs(sources: usize, path: &PathLoss, target_failure: f64) -> usize {
    let sources = sources.min(MAX_SOURCES);
    let most = max_repairs(sources);
    let loss = path.loss.min(MAX_LOSS);
    if path.loss.is_nan() || loss <= 0.0 {
        return 0;
    }
    let mut lost = Losses::new(loss, path.mean_burst, most);
    let unanswered = loss.powf(f64::from(path.rounds));
    for _ in 0..sources {
        lost.packet(unanswered);
    }
    for count in 0..most {
        if lost.more_than(count) <= target_failure {
            return count;
        }
        lost.packet(1.0);
    }
    most
}

/// Probability of each number of missing packets, separately for the two states of the path.
struct Losses {
    /// The packet before arrived (`good`), or was lost (`bad`). The last element stands for its number of packets and
    /// all higher ones.
    good: [f64; MAX_REPAIRS + 2],
    bad: [f64; MAX_REPAIRS + 2],
    last: usize,
    begins: f64,
    goes_on: f64,
}

impl Losses {
    /// The state before the first packet of a block with at most `most` repair symbols.
    fn new(loss: f64, mean_burst: f64, most: usize) -> Self {
        let burst = mean_burst.max(1.0 / (1.0 - loss));
        let (mut good, mut bad) = ([0.0; MAX_REPAIRS + 2], [0.0; MAX_REPAIRS + 2]);
        (good[0], bad[0]) = (1.0 - loss, loss);
        Self {
            good,
            bad,
            last: most + 1,
            begins: loss / (burst * (1.0 - loss)),
            goes_on: 1.0 - 1.0 / burst,
        }
    }

    /// Adds one packet. If it is lost, it is still missing in the end with probability `missing`.
    fn packet(&mut self, missing: f64) {
        let mut fewer = 0.0;
        for count in 0..=self.last {
            let (good, bad) = (self.good[count], self.bad[count]);
            let lost = good * self.begins + bad * self.goes_on;
            self.good[count] = good + bad - lost;
            self.bad[count] = lost * (1.0 - missing) + fewer;
            fewer = lost * missing;
        }
        self.bad[self.last] += fewer;
    }

    /// Probability that more than `count` packets are missing. `count` must be below the last index.
    fn more_than(&self, count: usize) -> f64 {
        let above = count + 1..=self.last;
        self.good[above.clone()].iter().sum::<f64>() + self.bad[above].iter().sum::<f64>()
    }
}

/// Computes [`repairs`] for each frame, and remembers the results as long as the path stays the same.
///
/// Loss and burst length are rounded up to 4 binary digits after the first, by 1/16 at most, so that small fluctuations
/// of an estimate change nothing.
#[derive(Clone, Debug)]
pub struct RepairPolicy {
    target_failure: f64,
    path: PathLoss,
    /// Results, indexed by the number of sources.
    answers: [Option<u8>; MAX_SOURCES + 1],
}

impl Default for RepairPolicy {
    fn default() -> Self {
        Self::new(TARGET_FAILURE)
    }
}

impl RepairPolicy {
    /// A policy under which at most the share `target_failure` of blocks, 0 to 1, may stay incomplete.
    pub fn new(target_failure: f64) -> Self {
        Self {
            target_failure,
            path: PathLoss {
                loss: 0.0,
                mean_burst: 0.0,
                rounds: 0,
            },
            answers: [None; MAX_SOURCES + 1],
        }
    }

    /// Returns the number of repair symbols for a block of `sources` records on this path: the result of [`repairs`]
    /// for the rounded path.
    pub fn repairs(&mut self, sources: usize, path: &PathLoss) -> usize {
        let rounded = PathLoss {
            loss: round_up(path.loss),
            mean_burst: round_up(path.mean_burst),
            rounds: path.rounds,
        };
        if rounded != self.path {
            self.path = rounded;
            self.answers.fill(None);
        }
        let sources = sources.min(MAX_SOURCES);
        let target = self.target_failure;
        let answer = self.answers[sources].get_or_insert_with(|| repairs(sources, &rounded, target) as u8);
        usize::from(*answer)
    }
}

/// Rounds up to the next number with [`KEPT_BITS`] mantissa bits. Returns 0 for negative values and NaN.
fn round_up(value: f64) -> f64 {
    let dropped = (1_u64 << (f64::MANTISSA_DIGITS - 1 - KEPT_BITS)) - 1;
    let value = value.max(0.0).min(f64::from(u32::MAX));
    f64::from_bits((value.to_bits() + dropped) & !dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(loss: f64, mean_burst: f64, rounds: u32) -> PathLoss {
        PathLoss {
            loss,
            mean_burst,
            rounds,
        }
    }

    /// Probability of more than `most` losses among `packets` packets with independent losses.
    fn binomial_tail(packets: usize, loss: f64, most: usize) -> f64 {
        let mut term = (1.0 - loss).powi(packets as i32);
        let mut up_to = 0.0;
        for count in 0..=most {
            up_to += term;
            term *= (packets - count) as f64 / (count + 1) as f64 * loss / (1.0 - loss);
        }
        1.0 - up_to
    }

    #[test]
    fn losses_one_by_one_follow_the_binomial_distribution() {
        for loss in [0.01, 0.1, 0.3] {
            for sources in [1, 7, 40, 128] {
                let mut lost = Losses::new(loss, 1.0, max_repairs(sources));
                (0..sources).for_each(|_| lost.packet(1.0));
                for count in 0..=max_repairs(sources) {
                    let (ours, exact) = (lost.more_than(count), binomial_tail(sources, loss, count));
                    assert!((ours - exact).abs() < 1e-12, "{sources} {loss} {count}: {ours} {exact}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_repaired_where_nothing_is_lost() {
        for loss in [0.0, -1.0, f64::NAN] {
            assert_eq!(repairs(40, &path(loss, 1.0, 0), TARGET_FAILURE), 0);
            assert_eq!(RepairPolicy::default().repairs(40, &path(loss, f64::NAN, 0)), 0);
        }
        assert_eq!(repairs(0, &path(0.5, 1.0, 0), TARGET_FAILURE), 0);
    }

    #[test]
    fn never_more_than_half_as_many_whatever_the_path_is_said_to_be() {
        for loss in [1e-300, 0.2, 0.9, 1.0, 7.0, f64::INFINITY] {
            for burst in [f64::NEG_INFINITY, f64::NAN, 0.0, 3.0, 1e300, f64::INFINITY] {
                for sources in [1, 2, 3, 127, 128, 129, usize::MAX] {
                    let path = path(loss, burst, 0);
                    let most = max_repairs(sources.min(MAX_SOURCES));
                    assert!(repairs(sources, &path, TARGET_FAILURE) <= most);
                    assert!(RepairPolicy::default().repairs(sources, &path) <= most);
                }
            }
        }
        assert_eq!(repairs(40, &path(1.0, 1.0, 0), TARGET_FAILURE), 20);
        assert_eq!(repairs(1, &path(0.01, 1.0, 0), TARGET_FAILURE), 1);
    }

    #[test]
    fn more_loss_needs_more_and_more_rounds_need_less() {
        let (mut before, mut saved) = (0, 0);
        for percent in 1..=30 {
            let loss = f64::from(percent) / 100.0;
            let counts = [0, 1, 2, 3].map(|rounds| repairs(60, &path(loss, 2.0, rounds), TARGET_FAILURE));
            assert!(counts.is_sorted_by(|fewer, more| fewer >= more), "{loss}: {counts:?}");
            assert!(counts[0] >= before, "{loss}: {counts:?}");
            before = counts[0];
            saved += counts[0] - counts[3];
        }
        assert!(saved > 0);
    }

    #[test]
    fn a_remembered_answer_is_that_of_the_rounded_path() {
        let mut policy = RepairPolicy::default();
        for (loss, burst, rounds) in [(0.01, 1.0, 0), (0.0203, 3.3, 1), (0.0203, 3.3, 0), (0.1, 9.0, 0)] {
            let given = path(loss, burst, rounds);
            let rounded = path(round_up(loss), round_up(burst), rounds);
            assert!(rounded.loss >= loss && rounded.loss <= loss * 17.0 / 16.0);
            assert!(rounded.mean_burst >= burst && rounded.mean_burst <= burst * 17.0 / 16.0);
            for sources in [3, 40, 128, 3, 40, 128] {
                let expected = repairs(sources, &rounded, TARGET_FAILURE);
                assert_eq!(policy.repairs(sources, &given), expected);
            }
        }
    }
}
