//! Plots of our figures, where the paper has a figure.

use super::data::{Form, Plot};
use crate::harness::boxes;
use crate::harness::chart::{self, Curve, Names};
use crate::harness::{Axis, Column, Results};

/// The plot in HTML; empty if its figures were not measured.
pub(super) fn html(plot: &Plot, results: &Results) -> String {
    let narrow = results.narrowed(&plot.cases, &plot.systems);
    let column = || results.columns.iter().find(|column| column.key == plot.key);
    match plot.kind {
        Form::Bars => column().map_or_else(String::new, |column| {
            let mut everywhere: Column = column.clone();
            everywhere.drawn_in = &[];
            chart::bars(&narrow, &everywhere)
        }),
        Form::Boxes => column().map_or_else(String::new, |column| boxes::of_column(&narrow, column)),
        Form::Curves => {
            let drawn = results.charts.iter().find(|chart| chart.series == plot.key);
            drawn.map_or_else(String::new, |drawn| chart::curves(&narrow, drawn))
        }
        Form::Distribution => distribution(&narrow, plot),
    }
}

/// A cumulative distribution: values in ascending order across, their share up.
fn distribution(results: &Results, plot: &Plot) -> String {
    let curves: Vec<Curve> = results
        .rows
        .iter()
        .map(|row| {
            let values = row.curve(&plot.key);
            let last = values.len().saturating_sub(1).max(1) as f64;
            let points = values.iter().enumerate().map(|(at, value)| (*value, at as f64 / last));
            Curve {
                name: row.system.name.clone(),
                class: chart::colour(results, row),
                points: points.collect(),
            }
        })
        .filter(|curve| curve.points.len() > 1)
        .collect();
    let ends = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.0);
    let axis = |title, from, to, percent| Axis {
        title,
        from,
        to,
        log: false,
        percent,
    };
    let (least, most) = (ends().fold(0.0, f64::min), ends().fold(1e-3, f64::max));
    let drawn = chart::Plot {
        title: "Cumulative distribution, the mean over rounds".to_owned(),
        x: axis("ms", least, most, false),
        y: axis("share", 0.0, 1.0, true),
        marks: Vec::new(),
        curves,
    };
    drawn.draw(Names::Across).unwrap_or_default()
}
