//! By how much one way to a camera is later than another: the log of `sealcast probe --beside`.

use jiff::Timestamp;
use sealcast::failure::Result;

use super::distribution::Distribution;
use super::end::End;
use super::figures::{Figure, STEPS, axis, class};
use super::log::Log;
use super::resources::between;
use super::series::Series;
use super::table::{Table, count, figure};
use crate::harness::Axis;
use crate::harness::chart::{Curve, Plot};

pub(super) const FILE: &str = "probe_beside.csv";
/// A pair holds for no longer than this, in seconds, where the next one is late.
const LONGEST: f64 = 1.0;
/// Comparisons, by their word in the log and for people.
const COMPARED: [(&str, &str); 2] = [("beside", "B later than A"), ("control", "A beside itself")];

/// Differences in ms, by what is compared.
#[derive(Debug)]
pub(super) struct Beside {
    differences: [Distribution; 2],
    over_time: [Series; 2],
    last: [Option<f64>; 2],
}

impl Beside {
    pub(super) fn new() -> Self {
        Self {
            differences: [(); 2].map(|()| Distribution::new()),
            over_time: [(); 2].map(|()| Series::new()),
            last: [None; 2],
        }
    }

    /// Takes in a log.
    pub(super) fn read(&mut self, log: &mut Log, origin: Timestamp) -> Result<()> {
        let [time, compared, difference] = ["time", "compared", "difference_ms"].map(|name| log.column(name));
        while log.next()? {
            let of = COMPARED.iter().position(|(word, _)| *word == log.text(compared));
            let of = of.ok_or_else(|| log.no_word(compared))?;
            let (at, ms) = (between(origin, log.time(time)?), log.needed(difference)?);
            self.differences[of].add(ms);
            // The first pair has none before it.
            if let Some(before) = self.last[of].replace(at) {
                self.over_time[of].add(at, (at - before).clamp(1e-3, LONGEST), ms);
            }
        }
        Ok(())
    }

    /// Number of pairs.
    pub(super) fn count(&self) -> u64 {
        self.differences.iter().map(Distribution::count).sum()
    }

    /// The comparisons that were made, with name and differences.
    fn compared(&self) -> impl Iterator<Item = (usize, &'static str, &Distribution)> {
        let all = COMPARED.iter().zip(&self.differences).enumerate();
        all.map(|(at, ((_, name), differences))| (at, *name, differences))
            .filter(|(_, _, differences)| differences.count() > 0)
    }

    /// The finding in a sentence.
    pub(super) fn found(&self) -> Option<String> {
        let words: Vec<String> = self
            .compared()
            .map(|(_, name, differences)| {
                let quantile = |share| figure(differences.quantile(share));
                let pairs = count(differences.count());
                let (median, low, high) = (quantile(0.5), quantile(0.05), quantile(0.95));
                format!("{name}: median {median} ms, 90 % from {low} to {high} ms, {pairs} pairs")
            })
            .collect();
        (!words.is_empty()).then(|| words.join("; ") + ".")
    }
}

/// The table of an end's differences.
pub(super) fn table(end: &End) -> Table {
    let rows = end.beside.compared().map(|(_, name, differences)| {
        let figures = [
            differences.mean(),
            differences.deviation(),
            differences.quantile(0.05),
            differences.quantile(0.5),
            differences.quantile(0.95),
            differences.least,
            differences.most,
        ];
        let mut row = vec![name.to_owned(), count(differences.count())];
        row.extend(figures.map(figure));
        row
    });
    Table {
        title: format!("Differences of two ways, {}, in ms", end.name),
        words: vec![
            "Of all pairs alike; the intervals, which allow for what successive pictures have in common, are printed \
             by the probe."
                .to_owned(),
        ],
        head: vec![
            "difference",
            "n",
            "mean",
            "sd",
            "5 %",
            "median",
            "95 %",
            "least",
            "most",
        ],
        rows: rows.collect(),
        texts: 1,
        ..Table::default()
    }
}

/// The differences over time, as means of equal spans.
pub(super) fn over_time(end: &End) -> Option<Figure> {
    let curves = curves(end, |at| end.beside.over_time[at].points());
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let heights = || points().map(|point| point.1).filter(|height| height.is_finite());
    let (least, most) = (heights().fold(0.0, f64::min), heights().fold(1e-3, f64::max));
    let last = points().map(|point| point.0).fold(1.0, f64::max);
    figure_of(
        ("beside-over-time", "Difference of two ways over time", end),
        axis("seconds from the start of the first log", 0.0, last),
        axis("ms", least * 1.1, most * 1.1),
        curves,
    )
}

/// The cumulative distributions of the differences.
pub(super) fn distribution(end: &End) -> Option<Figure> {
    let of = |at: usize| &end.beside.differences[at];
    let curves = curves(end, |at| of(at).cumulative(STEPS));
    let ends = |share: f64| end.beside.compared().map(move |(at, _, _)| of(at).quantile(share));
    let (from, to) = (
        ends(0.005).fold(f64::INFINITY, f64::min),
        ends(0.995).fold(f64::NEG_INFINITY, f64::max),
    );
    let shares = Axis {
        percent: true,
        ..axis("share that was no later", 0.0, 1.0)
    };
    let curves = curves.into_iter().map(|mut curve| {
        curve.points.retain(|point| point.0 >= from);
        curve
    });
    figure_of(
        ("beside-differences", "Differences of two ways", end),
        axis("milliseconds", from, to.max(from + 1e-3)),
        shares,
        curves.collect(),
    )
}

fn curves(end: &End, points: impl Fn(usize) -> Vec<(f64, f64)>) -> Vec<Curve> {
    let curves = end.beside.compared().map(|(at, name, _)| Curve {
        name: name.to_owned(),
        class: class(at),
        points: points(at),
    });
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

fn figure_of((key, title, end): (&str, &str, &End), x: Axis, y: Axis, curves: Vec<Curve>) -> Option<Figure> {
    (!curves.is_empty()).then(|| Figure {
        key: format!("{key} {}", end.name),
        plot: Plot {
            title: format!("{title}, {}", end.name),
            x,
            y,
            marks: Vec::new(),
            curves,
        },
    })
}
