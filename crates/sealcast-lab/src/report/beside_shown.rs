//! The differences of two ways, as a table and charts.

use super::end::End;
use super::figure::{Figure, STEPS, axis, class};
use super::table::{Table, count, figure};
use crate::harness::Axis;
use crate::harness::chart::{Curve, Plot};

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
