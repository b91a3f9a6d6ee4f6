//! The number of repair symbols, compared with simulated paths and with the table in docs/repair.md.

use sealcast_proto::repair::{PathLoss, RepairPolicy, TARGET_FAILURE, max_repairs, repairs};

const LOSSES: [f64; 4] = [0.01, 0.02, 0.05, 0.1];
const SOURCES: [usize; 4] = [3, 12, 40, 128];
const ROUNDS: [u32; 3] = [0, 1, 2];
/// Mean bursts: independent losses, and four packets in a row.
const BURSTS: [f64; 2] = [1.0, 4.0];

/// Number of packets simulated for each point, and the minimum number of blocks.
const PACKETS: usize = 8_000_000;
const BLOCKS: usize = 100_000;

/// A path that loses packets, seeded so that runs are repeatable (SplitMix64).
struct Path {
    state: u64,
    loss: f64,
    /// Probability of a loss after an arrival, and of a loss after a loss.
    begins: f64,
    goes_on: f64,
}

impl Path {
    fn new(loss: f64, mean_burst: f64) -> Self {
        let (begins, goes_on) = match mean_burst > 1.0 {
            true => (loss / (1.0 - loss) / mean_burst, 1.0 - 1.0 / mean_burst),
            false => (loss, loss),
        };
        Self {
            state: 7,
            loss,
            begins,
            goes_on,
        }
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * 2.0_f64.powi(-53) < probability
    }

    /// Number of packets lost out of `packets` sent back to back. `lost` is the state of the path: true if the last
    /// packet was lost.
    fn losses(&mut self, packets: usize, lost: &mut bool) -> usize {
        let mut count = 0;
        for _ in 0..packets {
            let probability = if *lost { self.goes_on } else { self.begins };
            *lost = self.happens(probability);
            count += usize::from(*lost);
        }
        count
    }

    /// True if a block fails although the receiver requests all missing records as often as it can.
    fn fails(&mut self, sources: usize, repairs: usize, rounds: u32) -> bool {
        let mut lost = self.happens(self.loss);
        let mut missing = self.losses(sources, &mut lost);
        let unrepaired = self.losses(repairs, &mut lost);
        for _ in 0..rounds {
            if missing == 0 || missing + unrepaired <= repairs {
                return false;
            }
            missing = (0..missing).filter(|_| self.happens(self.loss)).count();
        }
        missing > 0 && missing + unrepaired > repairs
    }
}

/// Simulates blocks and returns how many failed and how many there were.
fn simulate(sources: usize, repairs: usize, path: &PathLoss) -> (f64, f64) {
    let mut simulated = Path::new(path.loss, path.mean_burst);
    let blocks = (PACKETS / (sources + repairs)).max(BLOCKS);
    let failed = (0..blocks).filter(|_| simulated.fails(sources, repairs, path.rounds));
    (failed.count() as f64, blocks as f64)
}

/// Four standard deviations of a count with the expected value `expected`.
fn chance(expected: f64) -> f64 {
    4.0 * expected.sqrt()
}

fn points(burst: f64) -> impl Iterator<Item = (PathLoss, usize)> {
    let paths = LOSSES.into_iter().flat_map(move |loss| {
        ROUNDS.into_iter().map(move |rounds| PathLoss {
            loss,
            mean_burst: burst,
            rounds,
        })
    });
    paths.flat_map(|path| SOURCES.into_iter().map(move |sources| (path, sources)))
}

fn holds_the_target_with_as_little_as_possible(burst: f64) {
    let (mut below, mut capped) = (0, 0);
    for (path, sources) in points(burst) {
        let count = repairs(sources, &path, TARGET_FAILURE);
        let (failed, blocks) = simulate(sources, count, &path);
        let allowed = blocks * TARGET_FAILURE;
        if failed <= allowed + chance(allowed) {
            below += 1;
        } else {
            assert_eq!(
                count,
                max_repairs(sources),
                "{sources} sources, {path:?}: {failed} of {blocks}"
            );
            capped += 1;
        }
        if count > 0 {
            let (failed, blocks) = simulate(sources, count - 1, &path);
            let allowed = blocks * TARGET_FAILURE;
            let fewer = count - 1;
            assert!(
                failed >= allowed - chance(allowed),
                "{sources} sources, {path:?}: {fewer} were enough, {failed} of {blocks}"
            );
        }
        let chosen = RepairPolicy::default().repairs(sources, &path);
        assert!(
            chosen >= count && chosen <= count + 2,
            "{sources} sources, {path:?}: {chosen}, not {count}"
        );
    }
    assert!(
        below >= 30 && below + capped == 48,
        "{below} below the target, {capped} at the cap"
    );
}

#[test]
fn independent_losses_stay_below_the_target_with_no_symbol_too_many() {
    holds_the_target_with_as_little_as_possible(1.0);
}

#[test]
fn bursts_stay_below_the_target_with_no_symbol_too_many() {
    holds_the_target_with_as_little_as_possible(4.0);
}

#[test]
fn the_documents_table_is_what_the_policy_chooses() {
    let mut policy = RepairPolicy::default();
    let mut table = String::new();
    for burst in BURSTS {
        for loss in LOSSES {
            for rounds in ROUNDS {
                let path = PathLoss {
                    loss,
                    mean_burst: burst,
                    rounds,
                };
                let losses = if burst > 1.0 { "in bursts" } else { "single" };
                table += &format!("| {:.0} % {losses} | {rounds} |", loss * 100.0);
                for sources in SOURCES {
                    let count = policy.repairs(sources, &path);
                    let share = count as f64 / sources as f64 * 100.0;
                    table += &format!(" {count} ({share:.0} %) |");
                }
                table += "\n";
            }
        }
    }
    let document = include_str!("../../../../docs/repair.md");
    assert!(
        document.contains(&table),
        "docs/repair.md should have these lines:\n{table}"
    );
}
