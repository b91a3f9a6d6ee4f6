//! The area under the receiver operating characteristic (AUC), with an interval.

use sealcast::meter::statistics::interval_of_two;

use crate::harness::Estimate;

/// The probability that a score of the first class is higher than one of the second; ties count half (Mann and
/// Whitney 1947). `None` without scores of both.
pub fn auc(positive: &[f64], negative: &[f64]) -> Option<f64> {
    if positive.is_empty() || negative.is_empty() {
        return None;
    }
    let mut ranked: Vec<(f64, bool)> = positive.iter().map(|score| (*score, true)).collect();
    ranked.extend(negative.iter().map(|score| (*score, false)));
    ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = 0.0;
    let mut below = 0.0;
    for tied in ranked.chunk_by(|a, b| a.0 == b.0) {
        let own = tied.iter().filter(|(_, positive)| *positive).count() as f64;
        let others = tied.len() as f64 - own;
        above += own * (below + others / 2.0);
        below += others;
    }
    Some(above / (positive.len() as f64 * negative.len() as f64))
}

/// The AUC with its 95 % interval, by resampling each class. Where the classes are told apart without an error,
/// resampling gives an interval of length 0; the rule of three for the smaller class then sets the other end.
pub fn estimate(positive: &[f64], negative: &[f64]) -> Option<Estimate> {
    let median = auc(positive, negative)?;
    let figure = |positive: &mut [f64], negative: &mut [f64]| auc(positive, negative).unwrap_or(f64::NAN);
    let (mut low, mut high) = interval_of_two(positive, negative, figure);
    let rule_of_three = (3.0 / positive.len().min(negative.len()) as f64).min(1.0);
    if median >= 1.0 {
        low = 1.0 - rule_of_three;
    }
    if median <= 0.0 {
        high = rule_of_three;
    }
    Some(Estimate { median, low, high })
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;

    #[test]
    fn an_area_is_the_share_of_pairs_in_order() {
        assert_eq!(auc(&[2.0, 4.0], &[1.0, 3.0]), Some(0.75));
        assert_eq!(auc(&[1.0, 1.0], &[1.0, 1.0]), Some(0.5));
        assert_eq!(auc(&[3.0, 5.0], &[1.0, 2.0, 2.5]), Some(1.0));
        assert_eq!(auc(&[], &[1.0]), None);
        let sure = estimate(&[3.0; 30], &[1.0; 60]).expect("scores");
        assert_eq!((sure.low, sure.median, sure.high), (0.9, 1.0, 1.0));
    }

    #[test]
    fn the_interval_of_scores_without_a_difference_holds_a_half() {
        let mut random = Random::new(3);
        let mut scores = |count: usize| -> Vec<f64> { (0..count).map(|_| random.unit()).collect() };
        let holds = (0..40)
            .filter_map(|_| estimate(&scores(30), &scores(40)))
            .filter(|seen| seen.low <= 0.5 && 0.5 <= seen.high);
        assert!(holds.count() >= 34);
    }
}
