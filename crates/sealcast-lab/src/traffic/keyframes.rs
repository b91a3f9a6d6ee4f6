//! Keyframes: which frames are intra pictures, and how often they come, by sizes alone.

use sealcast::meter::statistics::median;

use super::trace::{correlation, standardised};

/// Shortest period that is looked for, in frames.
const SHORTEST: usize = 5;

/// Frames on each side of one whose median is what is usual there: a slow change of the rate is no period.
const NEAR: usize = 5;

/// A stream that correlates less than this with itself one period later has no period.
const LEAST_CORRELATION: f64 = 0.3;

/// A shorter period whose correlation is at least this share of the best one is taken instead: multiples of a period
/// fit as well as it does.
const AS_GOOD: f64 = 0.9;

/// The period of keyframes in frames, from the bytes of each frame. `None` if there is none: at least three periods
/// must have been seen.
pub fn period(frames: &[f64]) -> Option<usize> {
    let seen = standardised(&without_trend(frames));
    let shifted = |lag: usize| correlation(&seen[lag..], &seen[..seen.len() - lag]);
    let all: Vec<(usize, f64)> = (SHORTEST..=seen.len() / 3).map(|lag| (lag, shifted(lag))).collect();
    let best = all.iter().map(|(_, fits)| *fits).fold(0.0, f64::max);
    (best >= LEAST_CORRELATION)
        .then(|| all.iter().find(|(_, fits)| *fits >= AS_GOOD * best))
        .flatten()
        .map(|(lag, _)| *lag)
}

/// The bytes of frames less the median of those near them.
fn without_trend(frames: &[f64]) -> Vec<f64> {
    let near = |at: usize| &frames[at.saturating_sub(NEAR)..(at + NEAR + 1).min(frames.len())];
    let of = |(at, bytes): (usize, &f64)| bytes - median(&mut near(at).to_vec());
    frames.iter().enumerate().map(of).collect()
}

/// The bytes of frames without what repeats with this period: keyframes, and what rate control does around them. From
/// each frame the median of all frames at the same place in their period is subtracted.
pub fn without_period(frames: &[f64], period: usize) -> Vec<f64> {
    let usual: Vec<f64> = (0..period)
        .map(|place| median(&mut frames.iter().copied().skip(place).step_by(period).collect::<Vec<f64>>()))
        .collect();
    let rest = frames.iter().enumerate();
    rest.map(|(at, bytes)| bytes - usual[at % period]).collect()
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;

    fn frames(random: &mut Random, count: usize, keyframe: f64) -> Vec<f64> {
        (0..count)
            .map(|at| {
                let usual = 2000.0 * (0.8 + 0.4 * random.unit());
                if at % 50 == 7 { usual * keyframe } else { usual }
            })
            .collect()
    }

    #[test]
    fn the_period_is_found_where_there_is_one() {
        let mut random = Random::new(9);
        assert_eq!(period(&frames(&mut random, 500, 8.0)), Some(50));
        assert_eq!(period(&frames(&mut random, 500, 1.0)), None);
        let slow = |at: usize| 2000.0 + 1500.0 * (at as f64 / 40.0).sin();
        let rate: Vec<f64> = (0..500).map(|at| slow(at) * (0.95 + 0.1 * random.unit())).collect();
        assert_eq!(period(&rate), None, "a rate that rises and falls");
        assert_eq!(period(&[3.0; 500]), None);
        assert_eq!(period(&[]), None);
    }

    #[test]
    fn what_repeats_is_taken_out_and_the_rest_stays() {
        let mut sizes: Vec<f64> = (0..500).map(|at| if at % 50 == 7 { 9000.0 } else { 1000.0 }).collect();
        sizes[123] += 500.0;
        let rest = without_period(&sizes, 50);
        let left = |at: usize| if at == 123 { 500.0 } else { 0.0 };
        assert!(rest.iter().enumerate().all(|(at, bytes)| *bytes == left(at)));
    }
}
