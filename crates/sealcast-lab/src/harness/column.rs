//! A column: how a figure is computed from samples, how it is formatted, and how two systems are compared by it.

use sealcast::meter::statistics::{Confidence, mean};

use super::number;
use super::sample::Sample;
use super::statistics::Estimate;

/// Samples of one system in one case, each with its round.
pub(crate) type Samples<'a> = &'a [(usize, &'a Sample)];

/// A figure for each system in each case.
#[derive(Clone, Debug)]
pub struct Column {
    /// The column's name in `table.csv` and in targets.
    pub key: &'static str,
    /// The heading, without the unit.
    pub title: &'static str,
    /// The unit, such as `ms`; empty if there is none.
    pub unit: &'static str,
    /// Digits after the point.
    pub digits: usize,
    /// True if reports show the column; `table.csv` has all columns.
    pub shown: bool,
    /// Shown in place of a figure that was not measured. If there are such words, the column is shown though no row has
    /// a figure.
    pub(crate) absent: Option<&'static str>,
    /// True if the page has a bar chart of it.
    pub drawn: bool,
    /// The cases of the bar chart; all if none is named.
    pub(crate) drawn_in: &'static [&'static str],
    /// The series of the page's box plot, if there is one.
    pub(crate) boxes: Option<&'static str>,
    /// True if three significant digits are shown, or all before the point.
    significant: bool,
    /// The direction in which builds are judged by it, if they are.
    pub(crate) judged: Option<Better>,
    pub(crate) finding: Option<Finding>,
    /// Factor from the value in `table.csv` to the value shown in reports.
    pub(crate) scale: f64,
    /// The name before `_low` and `_high` in `table.csv`.
    ends: &'static str,
    /// The system that a relative figure refers to instead of the definition's baseline.
    beside: Option<&'static str>,
    /// The value, and the system whose value is deducted from it.
    pub(crate) deducted: Option<(&'static str, &'static str)>,
    kind: Kind,
}

/// Way in which the samples of all rounds become one figure.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The median of a value over rounds.
    Median(&'static str),
    /// The median over rounds of the difference to the baseline in the same round.
    Over(&'static str),
    /// The median over rounds of the ratio to the baseline in the same round.
    Times(&'static str),
    /// The mean of a series over all rounds. Each element is a share of this many events.
    Share(&'static str, f64),
    /// The mean of a series over all rounds.
    MeanOf(&'static str),
    /// The sum of a value over rounds.
    Sum(&'static str),
    /// The maximum of a value over rounds.
    Most(&'static str),
    /// The figure that this makes of all samples together.
    Pooled(fn(&[&Sample]) -> Option<Estimate>),
}

/// Rule by which a column decides which of two systems is better.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    pub(crate) better: Better,
    /// Smaller differences are irrelevant in practice. In the unit shown in reports; for ratios, the distance from 1.
    pub(crate) matters: f64,
    /// True if the ratio is compared, not the difference.
    pub(crate) ratio: bool,
    /// The rival's series to compare shares with, if it is another one.
    rival: Option<&'static str>,
}

/// The direction in which values get better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Lower is better.
    Less,
    /// Higher is better.
    More,
}

impl Column {
    fn new(key: &'static str, title: &'static str, unit: &'static str, kind: Kind) -> Self {
        Self {
            key,
            title,
            unit,
            digits: 1,
            shown: true,
            absent: None,
            drawn: false,
            drawn_in: &[],
            boxes: None,
            significant: false,
            judged: None,
            finding: None,
            scale: 1.0,
            ends: key,
            beside: None,
            deducted: None,
            kind,
        }
    }

    /// The median of the value `key` over rounds.
    pub fn median(key: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Median(key))
    }

    /// The median over rounds of the difference between `value` and the baseline's in the same round.
    pub fn over(key: &'static str, value: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Over(value))
    }

    /// The median over rounds of the ratio of `value` to the baseline's in the same round.
    pub fn times(key: &'static str, value: &'static str, title: &'static str) -> Self {
        Self::new(key, title, "times", Kind::Times(value)).digits(2)
    }

    /// The share of good events, shown in percent: the mean of `series`, each element of which is the share of `each`
    /// events. The interval is over elements instead of single events, since events fail together.
    pub fn share(key: &'static str, series: &'static str, title: &'static str, each: u32) -> Self {
        Self::new(key, title, "%", Kind::Share(series, each.into())).percent()
    }

    /// The mean of `series` over all rounds, for estimates that are independent of each other. The interval is over its
    /// elements.
    pub fn mean_of(key: &'static str, series: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::MeanOf(series))
    }

    /// The sum of the value `key` over rounds.
    pub fn sum(key: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Sum(key)).digits(0)
    }

    /// The maximum of the value `key` over rounds.
    pub fn most(key: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Most(key))
    }

    /// A figure that follows from the samples of all rounds together, in order of rounds, with an interval of its own.
    pub fn pooled(
        key: &'static str,
        title: &'static str,
        unit: &'static str,
        figure: fn(&[&Sample]) -> Option<Estimate>,
    ) -> Self {
        Self::new(key, title, unit, Kind::Pooled(figure))
    }

    /// Sets the number of digits after the point.
    #[must_use]
    pub fn digits(self, digits: usize) -> Self {
        Self { digits, ..self }
    }

    /// Shows the value in percent; `table.csv` keeps the share.
    #[must_use]
    pub fn percent(self) -> Self {
        Self {
            unit: "%",
            scale: 100.0,
            digits: 2,
            ..self
        }
    }

    /// Adds a bar chart to the page.
    #[must_use]
    pub fn drawn(self) -> Self {
        Self { drawn: true, ..self }
    }

    /// Adds a bar chart of these cases to the page.
    #[must_use]
    pub fn drawn_in(self, cases: &'static [&'static str]) -> Self {
        Self {
            drawn_in: cases,
            ..self.drawn()
        }
    }

    /// Adds a box plot to the page. Each element of `series` in a sample is one of five numbers: least, first quartile,
    /// median, third quartile, greatest, in the unit of `table.csv`. Of several rounds, the plot shows the least and
    /// the greatest of all, and the medians of the other three.
    #[must_use]
    pub fn boxes(self, series: &'static str) -> Self {
        Self {
            boxes: Some(series),
            ..self
        }
    }

    /// Shows three significant digits, or all before the point: for figures that differ by orders of magnitude.
    #[must_use]
    pub fn significant(self) -> Self {
        Self {
            significant: true,
            ..self
        }
    }

    /// Leaves the column out of reports; only `table.csv` has it.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { shown: false, ..self }
    }

    /// Shows these words in reports where a system that was measured has no figure, even if none has one.
    #[must_use]
    pub fn or_words(self, words: &'static str) -> Self {
        Self {
            absent: Some(words),
            ..self
        }
    }

    /// Words that reports show where a row has no figure; nothing if its figures are `published` ones.
    pub(crate) fn nothing(&self, published: bool) -> Option<&'static str> {
        self.absent.filter(|_| !published)
    }

    /// Makes a figure that is relative to the baseline relative to this system instead.
    #[must_use]
    pub fn beside(self, system: &'static str) -> Self {
        Self {
            beside: Some(system),
            ..self
        }
    }

    /// Gives samples that lack this column's value the difference of `value` and that of `system` in the same case and
    /// round: what a measurement adds, deducted. Samples of `system` itself, and of rounds without one, go on without.
    #[must_use]
    pub fn less(self, value: &'static str, system: &'static str) -> Self {
        Self {
            deducted: Some((value, system)),
            ..self
        }
    }

    /// Names the ends of the interval differently in `table.csv`: `NAME_low` and `NAME_high`.
    #[must_use]
    pub fn ends(self, ends: &'static str) -> Self {
        Self { ends, ..self }
    }

    /// Makes findings compare the subject with its rivals by this column. Differences of at least `matters` are
    /// reported.
    #[must_use]
    pub fn found(self, better: Better, matters: f64) -> Self {
        let finding = Finding {
            better,
            matters,
            ratio: false,
            rival: None,
        };
        Self {
            finding: Some(finding),
            ..self
        }
    }

    /// As [`Column::found`], but by the ratio: `matters` is 0.05 if a difference of 5 % is worth reporting.
    #[must_use]
    pub fn found_in_times(self, better: Better, matters: f64) -> Self {
        let mut column = self.found(better, matters);
        column.finding.iter_mut().for_each(|finding| finding.ratio = true);
        column
    }

    /// Makes builds of a system be judged by this median: by how many times as bad the value of one is.
    #[must_use]
    pub fn judged(self, better: Better) -> Self {
        Self {
            judged: Some(better),
            ..self
        }
    }

    /// Compares with this series of the rival, which counts to the rival's advantage.
    #[must_use]
    pub fn rival_series(mut self, series: &'static str) -> Self {
        self.finding.iter_mut().for_each(|finding| finding.rival = Some(series));
        self
    }

    /// The system that the figure is relative to, given the definition's baseline. That system itself has no figure.
    /// `None` if the figure is not relative.
    pub(crate) fn reference<'a>(&self, baseline: &'a str) -> Option<&'a str> {
        matches!(self.kind, Kind::Over(_) | Kind::Times(_)).then(|| self.beside.unwrap_or(baseline))
    }

    /// True if the figure has an interval.
    pub(crate) fn is_estimate(&self) -> bool {
        !matches!(self.kind, Kind::Sum(_) | Kind::Most(_))
    }

    /// Its column names in `table.csv`.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.is_estimate() {
            true => vec![
                self.key.to_owned(),
                format!("{}_low", self.ends),
                format!("{}_high", self.ends),
            ],
            false => vec![self.key.to_owned()],
        }
    }

    /// The heading, with the unit.
    pub(crate) fn head(&self) -> String {
        match self.unit {
            "" => self.title.to_owned(),
            unit => format!("{}, {unit}", self.title),
        }
    }

    /// The figure of these samples, in the unit of `table.csv`; `None` if no sample has the value.
    pub(crate) fn figure(&self, own: Samples<'_>, baseline: Samples<'_>) -> Option<Estimate> {
        let values = |name: &str| -> Vec<f64> { own.iter().filter_map(|(_, sample)| sample.value(name)).collect() };
        match self.kind {
            Kind::Median(name) => Estimate::of(&values(name)),
            Kind::Over(name) => Estimate::of(&paired(own, baseline, name, |own, base| own - base)),
            Kind::Times(name) => Estimate::of(&paired(own, baseline, name, |own, base| own / base)),
            Kind::Share(name, each) => Estimate::of_shares(&joined(own, name), each),
            Kind::MeanOf(name) => Estimate::of_mean(&joined(own, name)),
            Kind::Sum(name) => {
                let values = values(name);
                (!values.is_empty()).then(|| Estimate::exact(values.iter().sum()))
            }
            Kind::Most(name) => values(name).into_iter().reduce(f64::max).map(Estimate::exact),
            Kind::Pooled(figure) => {
                let mut own: Vec<(usize, &Sample)> = own.to_vec();
                own.sort_by_key(|(round, _)| *round);
                figure(&own.into_iter().map(|(_, sample)| sample).collect::<Vec<_>>())
            }
        }
    }

    /// The value of each round that has one, with the round, in the unit of `table.csv`; nothing for a figure that is
    /// no median over rounds. Of a relative figure, it is relative to `reference`.
    pub(crate) fn of_rounds(&self, own: Samples<'_>, reference: Samples<'_>) -> Vec<(usize, f64)> {
        let one = |sample: &(usize, &Sample)| Some((sample.0, self.figure(&[*sample], reference)?.median));
        match self.kind {
            Kind::Median(_) | Kind::Over(_) | Kind::Times(_) => own.iter().filter_map(one).collect(),
            _ => Vec::new(),
        }
    }

    /// The difference between the first and the second in each round that both have, or their ratio, in the unit shown
    /// in reports. Empty if systems are not compared by this figure.
    pub(crate) fn differences(&self, finding: Finding, own: Samples<'_>, rival: Samples<'_>) -> Vec<f64> {
        let both = |own: f64, rival: f64| if finding.ratio { own / rival } else { own - rival };
        let mut differences = match self.kind {
            Kind::Median(name) | Kind::Over(name) | Kind::Times(name) => paired(own, rival, name, both),
            Kind::Share(name, _) | Kind::MeanOf(name) => {
                let [own, rival] = [(own, name), (rival, finding.rival.unwrap_or(name))].map(means);
                let [own, rival]: [Vec<_>; 2] = [&own, &rival].map(|means| means.iter().map(lent).collect());
                paired(&own, &rival, MEAN, both)
            }
            Kind::Sum(_) | Kind::Most(_) | Kind::Pooled(_) => Vec::new(),
        };
        let scale = if finding.ratio { 1.0 } else { self.scale };
        differences.iter_mut().for_each(|difference| *difference *= scale);
        differences
    }

    /// Middle of such differences, as the column's own figure has it: their median or their mean. `None` without
    /// one.
    pub(crate) fn middle(&self, differences: &[f64], confidence: Confidence) -> Option<Estimate> {
        match self.kind {
            Kind::Share(..) | Kind::MeanOf(_) => Estimate::mean_with(differences, confidence),
            _ => Estimate::with(differences, confidence),
        }
    }

    /// For each round that both have, how many times as bad the value of the first is: above 1 if it is worse. Nothing
    /// if builds are not judged by this column.
    pub(crate) fn times_as_bad(&self, own: Samples<'_>, other: Samples<'_>) -> Vec<f64> {
        let (Kind::Median(name), Some(better)) = (self.kind, self.judged) else {
            return Vec::new();
        };
        let mut ratios = match better {
            Better::Less => paired(own, other, name, |own, other| own / other),
            Better::More => paired(own, other, name, |own, other| other / own),
        };
        ratios.retain(|ratio| *ratio > 0.0);
        ratios
    }

    /// A figure as reports show it, without unit and interval.
    pub(crate) fn written(&self, value: f64) -> String {
        let value = value * self.scale;
        let digits = if self.significant {
            number::digits(value)
        } else {
            self.digits
        };
        number::written(value, digits)
    }
}

/// `both` applied to the values of two systems, for each round in which both have the value.
fn paired(own: Samples<'_>, other: Samples<'_>, name: &str, both: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let beside = |round: usize| other.iter().find(|(other, _)| *other == round)?.1.value(name);
    own.iter()
        .filter_map(|(round, sample)| Some(both(sample.value(name)?, beside(*round)?)))
        .filter(|value| value.is_finite())
        .collect()
}

/// The name of the value of [`means`].
const MEAN: &str = "mean";

/// The mean of a series in each round that has it.
fn means((samples, name): (Samples<'_>, &str)) -> Vec<(usize, Sample)> {
    let mean_of = |sample: &Sample| sample.series.get(name).map(|series| mean(series));
    let means = samples
        .iter()
        .filter_map(|(round, sample)| Some((*round, mean_of(sample)?)));
    means
        .map(|(round, mean)| (round, Sample::default().with(MEAN, mean)))
        .collect()
}

fn lent((round, sample): &(usize, Sample)) -> (usize, &Sample) {
    (*round, sample)
}

fn joined(samples: Samples<'_>, name: &str) -> Vec<f64> {
    let series = samples.iter().filter_map(|(_, sample)| sample.series.get(name));
    series.flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(usize, f64)]) -> Vec<(usize, Sample)> {
        of.iter()
            .map(|&(round, value)| {
                let sample = Sample::default().with("p50_us", value);
                (round, sample.with_series("good", vec![value / 1000.0]))
            })
            .collect()
    }

    fn lent(samples: &[(usize, Sample)]) -> Vec<(usize, &Sample)> {
        samples.iter().map(super::lent).collect()
    }

    #[test]
    fn rounds_are_compared_with_themselves() {
        let ours = samples(&[(0, 110.0), (2, 60.0), (3, 80.0)]);
        let theirs = samples(&[(0, 100.0), (1, 7.0), (2, 50.0)]);
        let (ours, theirs) = (lent(&ours), lent(&theirs));
        let over = Column::over("over", "p50_us", "p50", "µs");
        let more = over.figure(&ours, &theirs).expect("common rounds");
        assert_eq!((more.low, more.median, more.high), (10.0, 10.0, 10.0));
        let times = Column::times("times", "p50_us", "p50")
            .figure(&ours, &theirs)
            .expect("common rounds");
        assert_eq!((times.low, times.high), (1.1, 1.2));
        let alone = samples(&[(5, 1.0)]);
        assert!(over.figure(&lent(&alone), &theirs).is_none());
        let sum = Column::sum("p50_us", "p50", "").figure(&ours, &[]).expect("values");
        assert_eq!((sum.low, sum.median), (250.0, 250.0));
    }

    #[test]
    fn a_relative_figure_refers_to_the_baseline_unless_another_system_is_named() {
        let times = Column::times("times", "p50_us", "p50");
        assert_eq!(times.reference("relay"), Some("relay"));
        assert_eq!(times.beside("stunnel").reference("relay"), Some("stunnel"));
        assert_eq!(Column::median("p50_us", "p50", "µs").reference("relay"), None);
    }

    #[test]
    fn a_pooled_figure_is_of_all_samples_in_order_of_rounds() {
        let column = Column::pooled("first", "first", "", |samples| {
            let values: Vec<f64> = samples.iter().filter_map(|sample| sample.value("p50_us")).collect();
            Some(Estimate {
                median: *values.first()?,
                low: values.len() as f64,
                high: *values.last()?,
            })
        });
        let seen = samples(&[(2, 30.0), (0, 10.0), (1, 20.0)]);
        let figure = column.figure(&lent(&seen), &[]).expect("values");
        assert_eq!((figure.median, figure.low, figure.high), (10.0, 3.0, 30.0));
        assert!(column.figure(&[], &[]).is_none());
        assert_eq!(column.names(), ["first", "first_low", "first_high"]);
    }

    #[test]
    fn shares_are_of_all_rounds_and_seen_in_percent() {
        let (a, b) = (samples(&[(0, 990.0), (1, 970.0)]), samples(&[(0, 500.0)]));
        let column = Column::share("shown", "good", "shown", 30).found(Better::More, 0.1);
        let figure = column.figure(&lent(&a), &[]).expect("shares");
        assert_eq!(column.written(figure.median), "98.00");
        let finding = column.finding.expect("found");
        let more = column.differences(finding, &lent(&a), &lent(&b));
        assert!(
            more.len() == 1 && (more[0] - 49.0).abs() < 1e-9,
            "the round of both: {more:?}"
        );
        let middle = column.middle(&[1.0, 2.0, 6.0], Confidence::P95).expect("differences");
        assert!((middle.median - 3.0).abs() < 1e-9, "a share is a mean: {middle:?}");
    }
}
