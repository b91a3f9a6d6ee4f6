//! Figures that papers tell of a set of latencies: mean, median, ends, standard deviation, and a box plot.

use sealcast::meter::statistics::{deviation, mean, quantile};

use super::sample::Sample;

/// Figures of a set of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) count: usize,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    /// Least value, first quartile, median, third quartile and greatest value.
    pub(crate) five: [f64; 5],
}

impl Summary {
    /// `None` without values.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Self {
            count: values.len(),
            mean: mean(&values),
            deviation: deviation(&values),
            five: [
                least,
                quantile(&values, 0.25),
                quantile(&values, 0.5),
                quantile(&values, 0.75),
                most,
            ],
        })
    }

    /// Adds these figures to a sample: `NAME_mean_UNIT`, `_median_`, `_min_`, `_max_`, `_sd_`, and the series
    /// `NAME_UNIT_box`.
    pub(crate) fn into_sample(self, sample: Sample, name: &str, unit: &str) -> Sample {
        let [least, _, median, _, most] = self.five;
        let figures = [
            ("mean", self.mean),
            ("median", median),
            ("min", least),
            ("max", most),
            ("sd", self.deviation),
        ];
        figures
            .into_iter()
            .fold(sample, |sample, (kind, value)| {
                sample.with(&format!("{name}_{kind}_{unit}"), value)
            })
            .with_series(&format!("{name}_{unit}_box"), self.five.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_what_a_paper_would_print() {
        let summary = Summary::of(vec![5.0, 1.0, 2.0, 4.0, 3.0]).expect("values");
        assert_eq!(summary.five, [1.0, 2.0, 3.0, 4.0, 5.0]);
        let sample = summary.into_sample(Sample::default(), "video", "ms");
        let value = |name: &str| sample.value(name).expect(name);
        assert_eq!((value("video_mean_ms"), value("video_median_ms")), (3.0, 3.0));
        assert_eq!((value("video_min_ms"), value("video_max_ms")), (1.0, 5.0));
        assert!((value("video_sd_ms") - 2.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(sample.series["video_ms_box"], [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(Summary::of(Vec::new()), None);
    }
}
