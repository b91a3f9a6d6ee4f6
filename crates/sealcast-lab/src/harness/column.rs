//! A column: which figure is made of samples, how it is written, and how two systems are compared in it.

use super::number;
use super::sample::Sample;
use super::statistics::Estimate;

/// Samples of one system in one case, each with its round.
pub(crate) type Samples<'a> = &'a [(usize, &'a Sample)];

/// A figure of each system in each case.
#[derive(Clone, Debug)]
pub struct Column {
    /// In `table.csv` and in targets.
    pub key: &'static str,
    /// In heads, without the unit.
    pub title: &'static str,
    /// Such as `ms`; empty if it has none.
    pub unit: &'static str,
    /// Digits after the point.
    pub digits: usize,
    /// Whether people see it; `table.csv` has all columns.
    pub shown: bool,
    /// Whether the page has bars of it.
    pub drawn: bool,
    pub(crate) finding: Option<Finding>,
    /// What stands in `table.csv` times this is what people see.
    pub(crate) scale: f64,
    /// What `_low` and `_high` stand behind in `table.csv`.
    ends: &'static str,
    kind: Kind,
}

/// How the samples of all rounds become a figure.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The median over rounds of a value.
    Median(&'static str),
    /// The same of the difference to the baseline in the same round.
    Over(&'static str),
    /// The same of how many times the baseline's in the same round it is.
    Times(&'static str),
    /// The mean of a series over all rounds, each of whose elements is a share of so many events.
    Share(&'static str, f64),
    /// The sum of a value over rounds.
    Sum(&'static str),
    /// The highest of a value over rounds.
    Most(&'static str),
}

/// How a column tells which of two systems is better.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    pub(crate) better: Better,
    /// Differences below this, in the unit that people see, matter to nobody. Of ratios: by how much it is not 1.
    pub(crate) matters: f64,
    /// Compared is the ratio, not the difference.
    pub(crate) ratio: bool,
    /// The series of the rival that shares are compared with, if not the same.
    rival: Option<&'static str>,
}

/// Which end is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is.
    Less,
    /// More is.
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
            drawn: false,
            finding: None,
            scale: 1.0,
            ends: key,
            kind,
        }
    }

    /// The median over rounds of the value `key`.
    pub fn median(key: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Median(key))
    }

    /// The median over rounds of by how much `value` is more than the baseline's in the same round.
    pub fn over(key: &'static str, value: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Over(value))
    }

    /// The median over rounds of how many times the baseline's in the same round `value` is.
    pub fn times(key: &'static str, value: &'static str, title: &'static str) -> Self {
        Self::new(key, title, "times", Kind::Times(value)).digits(2)
    }

    /// The share of good events, in percent for people: the mean of `series`, each of whose elements is the share of
    /// `each` events. Elements of all rounds are resampled, since events fail together.
    pub fn share(key: &'static str, series: &'static str, title: &'static str, each: u32) -> Self {
        Self::new(key, title, "%", Kind::Share(series, each.into())).percent()
    }

    /// The sum of the value `key` over rounds.
    pub fn sum(key: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Sum(key)).digits(0)
    }

    /// The highest of the value `key` over rounds.
    pub fn most(key: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self::new(key, title, unit, Kind::Most(key))
    }

    /// With so many digits after the point.
    #[must_use]
    pub fn digits(self, digits: usize) -> Self {
        Self { digits, ..self }
    }

    /// In percent for people, a share in `table.csv`.
    #[must_use]
    pub fn percent(self) -> Self {
        Self {
            unit: "%",
            scale: 100.0,
            digits: 2,
            ..self
        }
    }

    /// With bars on the page.
    #[must_use]
    pub fn drawn(self) -> Self {
        Self { drawn: true, ..self }
    }

    /// In `table.csv` alone.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { shown: false, ..self }
    }

    /// With the ends of its interval under other names in `table.csv`: `NAME_low` and `NAME_high`.
    #[must_use]
    pub fn ends(self, ends: &'static str) -> Self {
        Self { ends, ..self }
    }

    /// Findings compare the subject with its rivals here: differences from `matters` on are told.
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

    /// The same, by the ratio: `matters` is 0.05 if five in a hundred do.
    #[must_use]
    pub fn found_in_times(self, better: Better, matters: f64) -> Self {
        let mut column = self.found(better, matters);
        column.finding.iter_mut().for_each(|finding| finding.ratio = true);
        column
    }

    /// Of the rival this series counts, to its advantage.
    #[must_use]
    pub fn rival_series(mut self, series: &'static str) -> Self {
        self.finding.iter_mut().for_each(|finding| finding.rival = Some(series));
        self
    }

    /// Whether it is about the baseline, which has no such figure.
    pub(crate) fn is_relative(&self) -> bool {
        matches!(self.kind, Kind::Over(_) | Kind::Times(_))
    }

    /// Whether it has an interval.
    pub(crate) fn is_estimate(&self) -> bool {
        !matches!(self.kind, Kind::Sum(_) | Kind::Most(_))
    }

    /// Its names in `table.csv`.
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

    /// What stands above it, with its unit.
    pub(crate) fn head(&self) -> String {
        match self.unit {
            "" => self.title.to_owned(),
            unit => format!("{}, {unit}", self.title),
        }
    }

    /// The figure of these samples, as `table.csv` has it; none where there is no value.
    pub(crate) fn figure(&self, own: Samples<'_>, baseline: Samples<'_>) -> Option<Estimate> {
        let values = |name: &str| -> Vec<f64> { own.iter().filter_map(|(_, sample)| sample.value(name)).collect() };
        match self.kind {
            Kind::Median(name) => Estimate::of(&values(name)),
            Kind::Over(name) => Estimate::of(&paired(own, baseline, name, |own, base| own - base)),
            Kind::Times(name) => Estimate::of(&paired(own, baseline, name, |own, base| own / base)),
            Kind::Share(name, each) => Estimate::of_shares(&joined(own, name), each),
            Kind::Sum(name) => {
                let values = values(name);
                (!values.is_empty()).then(|| Estimate::exact(values.iter().sum()))
            }
            Kind::Most(name) => values(name).into_iter().reduce(f64::max).map(Estimate::exact),
        }
    }

    /// By how much, or how many times, the first is more than the second, in the unit that people see; none where they
    /// have nothing in common.
    pub(crate) fn compared(&self, finding: Finding, own: Samples<'_>, rival: Samples<'_>) -> Option<Estimate> {
        let ratio = finding.ratio;
        let both = |own: f64, rival: f64| if ratio { own / rival } else { own - rival };
        let scale = if ratio { 1.0 } else { self.scale };
        let compared = match self.kind {
            Kind::Median(name) | Kind::Over(name) | Kind::Times(name) => Estimate::of(&paired(own, rival, name, both)),
            Kind::Share(name, _) => {
                Estimate::difference(&joined(own, name), &joined(rival, finding.rival.unwrap_or(name)))
            }
            Kind::Sum(_) | Kind::Most(_) => None,
        };
        compared.map(|estimate| estimate.times(scale))
    }

    /// A figure for people, without unit and interval.
    pub(crate) fn written(&self, value: f64) -> String {
        number::written(value * self.scale, self.digits)
    }
}

/// What two systems come to in each round in which both have the value.
fn paired(own: Samples<'_>, other: Samples<'_>, name: &str, both: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let beside = |round: usize| other.iter().find(|(other, _)| *other == round)?.1.value(name);
    own.iter()
        .filter_map(|(round, sample)| Some(both(sample.value(name)?, beside(*round)?)))
        .filter(|value| value.is_finite())
        .collect()
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
        samples.iter().map(|(round, sample)| (*round, sample)).collect()
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
    fn shares_are_of_all_rounds_and_seen_in_percent() {
        let (a, b) = (samples(&[(0, 990.0), (1, 970.0)]), samples(&[(0, 500.0)]));
        let column = Column::share("shown", "good", "shown", 30).found(Better::More, 0.1);
        let figure = column.figure(&lent(&a), &[]).expect("shares");
        assert_eq!(column.written(figure.median), "98.00");
        let finding = column.finding.expect("found");
        let more = column.compared(finding, &lent(&a), &lent(&b)).expect("both");
        assert!((more.median - 48.0).abs() < 1e-9, "{more:?}");
    }
}
