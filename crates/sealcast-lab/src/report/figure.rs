//! A chart of a report, and its axes and colours.

use crate::harness::Axis;
use crate::harness::chart::Plot;

/// Number of steps of a cumulative distribution, evenly spaced in the share.
pub(super) const STEPS: usize = 400;
/// Number of the page's colours that curves share; the first one is grey.
const COLOURS: usize = 7;

/// A chart, and the name of its numbers in `figures.csv`.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) key: String,
    pub(super) plot: Plot,
}

pub(super) fn axis(title: &'static str, from: f64, to: f64) -> Axis {
    Axis {
        title,
        from,
        to,
        log: false,
        percent: false,
    }
}

pub(super) fn class(at: usize) -> String {
    format!("c{}", 1 + at % COLOURS)
}
