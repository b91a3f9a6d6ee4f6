//! The columns computed from samples.

use super::scores::{FEATURES, KEYFRAMES, KINDS, OTHERS, PHASE_ERROR, WITH, WITHOUT};
use crate::harness::{Better, Column, Estimate, Sample};
use crate::traffic::activity::{self, Example};
use crate::traffic::auc;

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::pooled("auc", "AUC of the attacker", "", attackers_auc)
            .digits(3)
            .drawn(),
        Column::pooled("accuracy", "kinds guessed right", "", accuracy).percent(),
        Column::mean_of(PHASE_ERROR, PHASE_ERROR, "phase off by", "ms").digits(0),
        Column::pooled("keyframe_auc", "AUC of keyframes", "", keyframe_auc).digits(3),
        Column::median("keyframe_period", "period found", "frames").digits(0),
        Column::median("bytes_a_second", "towards the viewer", "bytes a second").digits(0),
        Column::times("times_bytes", "bytes_a_second", "bytes beside the baseline").found_in_times(Better::Less, 0.02),
        Column::times("times_quality", "bytes_a_second", "bytes beside constant quality").beside("quality"),
        Column::median("delay_p50_ms", "picture to opened, p50", "ms"),
        Column::over("added_p50_ms", "delay_p50_ms", "added, p50", "ms"),
        Column::median("delay_p95_ms", "picture to opened, p95", "ms").hidden(),
        Column::over("added_p95_ms", "delay_p95_ms", "added, p95", "ms"),
        Column::median("fps", "frames received", "a second").hidden(),
        Column::sum("lost", "frames lost", "").hidden(),
        Column::pooled("windows", "windows", "", |samples| {
            Some(Estimate::exact(windows(samples) as f64))
        })
        .digits(0),
    ]
}

fn joined(samples: &[&Sample], name: &str) -> Vec<f64> {
    let series = samples.iter().filter_map(|sample| sample.series.get(name));
    series.flatten().copied().collect()
}

/// Number of windows that attackers looked at.
fn windows(samples: &[&Sample]) -> usize {
    [WITH, WITHOUT, KINDS]
        .iter()
        .map(|name| joined(samples, name).len())
        .sum()
}

/// Of flicker and presence by their scores; of kinds by votes: those for the right kind against those for others.
fn attackers_auc(samples: &[&Sample]) -> Option<Estimate> {
    let (examples, kinds) = examples(samples);
    if examples.is_empty() {
        return auc::estimate(&joined(samples, WITH), &joined(samples, WITHOUT));
    }
    let votes = activity::votes(&examples, kinds);
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for kind in 0..kinds {
        let (own, rest) = activity::one_against_rest(&examples, &votes, kind);
        right.extend(own);
        wrong.extend(rest);
    }
    auc::estimate(&right, &wrong)
}

fn accuracy(samples: &[&Sample]) -> Option<Estimate> {
    let (examples, kinds) = examples(samples);
    let votes = activity::votes(&examples, kinds);
    Estimate::of_shares(&activity::right(&examples, &votes), 1.0)
}

fn keyframe_auc(samples: &[&Sample]) -> Option<Estimate> {
    auc::estimate(&joined(samples, KEYFRAMES), &joined(samples, OTHERS))
}

/// Windows of all runs, and the number of their kinds. None of a single run: there is nothing to learn from.
fn examples(samples: &[&Sample]) -> (Vec<Example>, usize) {
    let mut all = Vec::new();
    for (run, sample) in samples.iter().enumerate() {
        let series = |name: &str| sample.series.get(name).map_or(&[][..], Vec::as_slice);
        let (kinds, features) = (series(KINDS), series(FEATURES));
        if kinds.is_empty() {
            continue;
        }
        let each = features.chunks(features.len().max(1) / kinds.len());
        all.extend(kinds.iter().zip(each).map(|(kind, features)| Example {
            run,
            kind: *kind as usize,
            features: features.to_vec(),
        }));
    }
    let kinds = all.iter().map(|example| example.kind + 1).max().unwrap_or_default();
    match all.iter().all(|example| example.run == all[0].run) {
        true => (Vec::new(), 0),
        false => (all, kinds),
    }
}
