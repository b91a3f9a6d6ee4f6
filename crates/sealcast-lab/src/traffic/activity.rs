//! Activity before the camera: a window is taken for what those are that look most like it, by how large its frames are
//! (Li and others, INFOCOM 2016).

/// Octaves of frame sizes, from 64 bytes to 4 MiB, in halves: one feature each.
const LEAST_EXPONENT: f64 = 6.0;
const FEATURES: usize = 32;

/// Number of neighbours that vote.
const NEIGHBOURS: usize = 3;

/// A window whose kind is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The run it is from; a window is never compared with others of its own run.
    pub run: usize,
    /// Its kind.
    pub kind: usize,
    /// Its features.
    pub features: Vec<f64>,
}

/// Features of a window: for each size in half octaves the share of frames that are at most as large.
///
/// The difference between two such curves is the least work that turns one histogram of sizes into the other (the
/// earth mover's distance), so that sizes that differ a little are near each other.
pub fn features(frames: &[f64]) -> Vec<f64> {
    let count = frames.len().max(1) as f64;
    (0..FEATURES)
        .map(|at| {
            let limit = (LEAST_EXPONENT + at as f64 / 2.0).exp2();
            frames.iter().filter(|bytes| **bytes <= limit).count() as f64 / count
        })
        .collect()
}

/// For each example the share of votes for each of `kinds`, by its nearest neighbours among the other runs. Examples
/// at the same distance as the last neighbour all vote, so that their order does not matter.
pub fn votes(examples: &[Example], kinds: usize) -> Vec<Vec<f64>> {
    let of = |own: &Example| {
        let others = examples.iter().filter(|other| other.run != own.run);
        let mut near: Vec<(f64, usize)> = others
            .map(|other| (distance(&own.features, &other.features), other.kind))
            .collect();
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let last = near.get(NEIGHBOURS - 1).or(near.last()).map_or(0.0, |(far, _)| *far);
        let voters: Vec<usize> = near
            .iter()
            .filter(|(far, _)| *far <= last)
            .map(|(_, kind)| *kind)
            .collect();
        (0..kinds)
            .map(|kind| voters.iter().filter(|voter| **voter == kind).count() as f64 / voters.len().max(1) as f64)
            .collect()
    };
    examples.iter().map(of).collect()
}

/// The probability that the kind with most votes is the right one, for each example: 1 or 0, or less than 1 where
/// several kinds have as many votes and one of them must be drawn.
pub fn right(examples: &[Example], votes: &[Vec<f64>]) -> Vec<f64> {
    let of = |(own, votes): (&Example, &Vec<f64>)| {
        let most = votes.iter().copied().fold(0.0, f64::max);
        let leaders = votes.iter().filter(|share| **share == most).count();
        match votes.get(own.kind) {
            Some(share) if *share == most => 1.0 / leaders as f64,
            _ => 0.0,
        }
    };
    examples.iter().zip(votes).map(of).collect()
}

/// Votes for a kind: of the examples that are of it, and of those that are not.
pub fn one_against_rest(examples: &[Example], votes: &[Vec<f64>], kind: usize) -> (Vec<f64>, Vec<f64>) {
    let all = || {
        examples
            .iter()
            .zip(votes)
            .map(|(own, votes)| (own.kind == kind, votes[kind]))
    };
    let of = |wanted: bool| {
        all()
            .filter(|(own, _)| *own == wanted)
            .map(|(_, share)| share)
            .collect()
    };
    (of(true), of(false))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;
    use crate::traffic::auc;

    /// Three kinds, whose frames differ by `octaves` from one to the next.
    fn examples(octaves: f64) -> Vec<Example> {
        let mut random = Random::new(8);
        let kinds = (0..8).flat_map(|run| (0..12).map(move |at| (run, at % 3)));
        kinds
            .map(|(run, kind)| {
                let mut frame = || 1000.0 * (octaves * kind as f64 + 3.0 * random.unit()).exp2();
                let frames: Vec<f64> = (0..50).map(|_| frame()).collect();
                Example {
                    run,
                    kind,
                    features: features(&frames),
                }
            })
            .collect()
    }

    #[test]
    fn it_wins_where_kinds_differ_and_guesses_where_they_do_not() {
        let accuracy = |examples: &[Example]| {
            let right = right(examples, &votes(examples, 3));
            right.iter().sum::<f64>() / right.len() as f64
        };
        assert!(accuracy(&examples(1.0)) > 0.9);
        let noise = examples(0.0);
        let guessed = accuracy(&noise);
        assert!((guessed - 1.0 / 3.0).abs() < 0.15, "{guessed}");
        let votes = votes(&noise, 3);
        let (own, rest) = one_against_rest(&noise, &votes, 1);
        assert_eq!((own.len(), rest.len()), (32, 64));
        let seen = auc::estimate(&own, &rest).expect("votes");
        assert!(seen.low <= 0.5 && 0.5 <= seen.high, "{seen:?}");
    }

    #[test]
    fn where_all_windows_are_alike_everybody_votes() {
        let alike: Vec<Example> = (0..8)
            .map(|at| Example {
                run: at / 4,
                kind: at % 4,
                features: features(&[1200.0; 50]),
            })
            .collect();
        let votes = votes(&alike, 4);
        assert!(votes.iter().flatten().all(|share| *share == 0.25));
        assert_eq!(right(&alike, &votes), [0.25; 8]);
    }

    #[test]
    fn features_say_how_many_frames_are_at_most_so_large() {
        let seen = features(&[64.0, 100.0, 128.0, 1e9]);
        assert_eq!((seen.len(), &seen[..4]), (32, &[0.25, 0.25, 0.75, 0.75][..]));
        assert_eq!(seen[31], 0.75);
    }
}
