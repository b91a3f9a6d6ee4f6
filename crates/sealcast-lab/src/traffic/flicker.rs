//! Flicker: something that blinks before the camera at a known period, looked for in the bytes of frames (Nassi,
//! Ben-Netanel, Shamir and Elovici 2019).

/// Finding in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Highest response of any template, in deviations of the stream: noise gives some 2 to 3.
    pub score: f64,
    /// Frames from the beginning of the window to the first change, from 0 to the time between changes.
    pub phase: usize,
}

/// Looks for something that changes each `between` frames in a window of a stream: the bytes of each frame, in
/// deviations of the stream ([`standardised`](super::trace::standardised)), not of the window, since what blinks makes
/// those larger.
///
/// Two templates are tried at each phase. A comb has a peak at each change: an encoder that predicts from the picture
/// before spends bytes on what changed, and rate control saves them afterwards. A square wave is high from one change
/// to the next: a picture that is coded alone, or noise that the object hides, has other sizes while the object is
/// there. Of each, the opposite counts as well. A response is the mean under the template times the root of the number
/// of frames in it, so that both have the same deviation in noise.
pub fn look(window: &[f64], between: usize) -> Found {
    let mean = window.iter().sum::<f64>() / window.len().max(1) as f64;
    let seen: Vec<f64> = window.iter().map(|bytes| bytes - mean).collect();
    let mut best = Found { score: 0.0, phase: 0 };
    for phase in 0..between.min(seen.len()) {
        let teeth = seen.iter().skip(phase).step_by(between);
        let comb = teeth.clone().sum::<f64>() / (teeth.len() as f64).sqrt();
        let sign = |at: usize| match (at + 2 * between - phase) / between % 2 {
            0 => 1.0,
            _ => -1.0,
        };
        let square: f64 = seen.iter().enumerate().map(|(at, bytes)| sign(at) * bytes).sum();
        let score = comb.abs().max(square.abs() / (seen.len() as f64).sqrt());
        if score > best.score {
            best = Found { score, phase };
        }
    }
    best
}

/// Number of frames by which a phase is off, at most half of the time between changes.
pub fn phase_error(phase: f64, truth: f64, between: f64) -> f64 {
    let off = (phase - truth).rem_euclid(between);
    off.min(between - off)
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;
    use crate::traffic::auc;

    const BETWEEN: usize = 23;

    /// Sizes that vary by a tenth, in deviations of that, and are `more` times as large where something changes.
    fn frames(random: &mut Random, count: usize, changes: Option<usize>, more: f64) -> Vec<f64> {
        (0..count)
            .map(|at| {
                let usual = 2000.0 * (0.9 + 0.2 * random.unit());
                let bytes = match changes.is_some_and(|phase| at % BETWEEN == phase) {
                    true => usual * more,
                    false => usual,
                };
                (bytes - 2000.0) / 115.0
            })
            .collect()
    }

    #[test]
    fn changes_and_their_phase_are_found() {
        let mut random = Random::new(1);
        for phase in 0..BETWEEN {
            let found = look(&frames(&mut random, 90, Some(phase), 2.0), BETWEEN);
            assert_eq!(found.phase, phase);
            assert!(found.score > 20.0, "{found:?}");
        }
    }

    #[test]
    fn a_level_that_goes_up_and_down_is_found() {
        for phase in 0..BETWEEN {
            let level = |at: usize| match (at + 2 * BETWEEN - phase) / BETWEEN % 2 {
                0 => -1.0,
                _ => 1.0,
            };
            let found = look(&(0..90).map(level).collect::<Vec<f64>>(), BETWEEN);
            assert_eq!(found.phase, phase);
            assert!(found.score > 9.0, "{found:?}");
        }
    }

    #[test]
    fn it_wins_on_a_stream_that_flickers_and_guesses_in_noise() {
        let mut random = Random::new(2);
        let mut scores = |more: f64| -> Vec<f64> {
            (0..60)
                .map(|at| look(&frames(&mut random, 90, Some(at % BETWEEN), more), BETWEEN).score)
                .collect()
        };
        let (still, same) = (scores(1.0), scores(1.0));
        let won = auc::estimate(&scores(1.5), &still).expect("scores");
        assert!(won.median > 0.99 && won.low > 0.9, "{won:?}");
        let guessed = auc::estimate(&same, &still).expect("scores");
        assert!(guessed.low <= 0.5 && 0.5 <= guessed.high, "{guessed:?}");
    }

    #[test]
    fn nothing_is_found_where_all_frames_have_the_same_size() {
        assert_eq!(look(&[7.0; 90], BETWEEN).score, 0.0);
        assert_eq!(look(&[], BETWEEN).score, 0.0);
    }

    #[test]
    fn a_phase_is_off_by_at_most_half() {
        assert_eq!(phase_error(22.0, 1.0, 23.0), 2.0);
        assert_eq!(phase_error(12.0, 1.0, 23.0), 11.0);
    }
}
