//! The figures of a trial for the record.

use sealcast::meter::statistics::{mean, median};

use crate::attack::{CLOCK, DETAIL, ESS, FACES, LSS, MOVING, MS_SSIM, PEOPLE, PSNR, SSIM, TEXT, TrialResult, VMAF};
use crate::harness::Sample;

/// Part of the names of the values of controls.
pub(super) const CONTROL: &str = "on-noise";

/// The name of an attacker's values of a measure, by frame.
pub(super) fn series(attacker: &str, measure: &str) -> String {
    format!("{attacker}.{measure}")
}

/// The name of the same on random bytes.
pub(super) fn control(attacker: &str, measure: &str) -> String {
    format!("{attacker}.{CONTROL}.{measure}")
}

/// The name of the share of the picture that an attacker claims to have.
pub(super) fn coverage(attacker: &str) -> String {
    format!("{attacker}.coverage")
}

/// Measures of which more is better for the attacker.
const MORE: [&str; 10] = [PSNR, SSIM, MS_SSIM, VMAF, LSS, ESS, DETAIL, MOVING, FACES, PEOPLE];
/// Measures of which less is better for the attacker.
const LESS: [&str; 2] = [CLOCK, TEXT];

/// Digits after the point that a record keeps of a score.
fn rounded(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| (value * 1e4).round() / 1e4).collect()
}

pub(super) fn sample(result: &TrialResult) -> Sample {
    let carried = &result.carried;
    let frames = carried.viewer.len() as f64;
    let mut sample = Sample::default()
        .with("known", carried.overheard.known_share())
        .with("records", carried.overheard.records as f64)
        .with("in_clear", carried.overheard.in_clear as f64)
        .with("seal_us", median(&mut carried.seal_us.clone()))
        .with("open_us", median(&mut carried.open_us.clone()))
        .with("cpu_us", carried.cpu.as_secs_f64() * 1e6 / frames)
        .with_some("expected_coverage", result.expected_coverage);
    for attacked in &result.attacked {
        let name = attacked.attacker.name();
        for (measure, values) in &attacked.scores {
            sample = sample.with_series(&series(name, measure), rounded(values));
        }
        for (measure, values) in &attacked.control {
            sample = sample.with_series(&control(name, measure), rounded(values));
        }
        sample = sample.with_some(&coverage(name), attacked.coverage);
    }
    let best = |measure: &str, better: fn(f64, f64) -> f64| {
        let means = result.attacked.iter().filter_map(|attacked| {
            let values = attacked.scores.get(measure).filter(|values| !values.is_empty())?;
            Some(mean(values))
        });
        means.reduce(better)
    };
    for measure in MORE {
        sample = sample.with_some(&format!("best_{measure}"), best(measure, f64::max));
    }
    for measure in LESS {
        sample = sample.with_some(&format!("best_{measure}"), best(measure, f64::min));
    }
    let fused = result.attacked.iter().find_map(|attacked| attacked.coverage);
    sample.with_some("coverage", fused)
}
