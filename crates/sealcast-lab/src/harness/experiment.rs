//! The interface of an experiment: an engine that measures, and columns.

use sealcast::failure::Result;

use super::column::Column;
use super::definition::{self, Definition, Entry};
use super::process::Stop;
use super::sample::Sample;
use super::turn::Turn;

/// A built-in experiment: definition, engine and columns.
pub struct Experiment {
    /// The name that definitions use.
    pub name: &'static str,
    /// Its definition, in TOML.
    pub definition: &'static str,
    /// Sets up the engine.
    pub open: fn(&Definition, &Place<'_>) -> Result<Opened>,
    /// The columns computed from samples.
    pub columns: fn() -> Vec<Column>,
    /// The charts drawn from series.
    pub charts: fn(&Definition) -> Vec<Chart>,
    /// Adds to a definition what this program knows: systems if the file lists none, and their properties.
    pub complete: Option<fn(&mut Definition, &Asked<'_>) -> Result<()>>,
}

/// Facts that are known when a definition is completed.
#[derive(Clone, Copy, Default)]
pub struct Asked<'a> {
    /// The names of `--only`.
    pub only: &'a [String],
    /// The definition of the record that the run continues.
    pub known: Option<&'a Definition>,
}

impl Experiment {
    /// Completes a definition that was read from a file.
    ///
    /// # Errors
    /// A system is unknown, or there is none.
    pub(crate) fn complete(&self, definition: &mut Definition, asked: &Asked<'_>) -> Result<()> {
        if let Some(complete) = self.complete {
            complete(definition, asked)?;
        }
        match definition.systems.is_empty() {
            true => Err(definition::refused(&"there is no system")),
            false => Ok(()),
        }
    }
}

impl Experiment {
    /// Words on how the figures of a definition are obtained: its own, or those of the built-in one.
    ///
    /// # Errors
    /// None in practice: a test reads the built-in definitions.
    pub(crate) fn method(&self, definition: &Definition) -> Result<Vec<String>> {
        match definition.method.is_empty() {
            true => Ok(Definition::parse(self.definition)?.method),
            false => Ok(definition.method.clone()),
        }
    }
}

/// The place where an engine may leave files.
pub struct Place<'a> {
    /// An existing folder.
    pub folder: &'a std::path::Path,
}

/// An engine that is ready, and notes on its environment.
pub struct Opened {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Facts about the environment, by name.
    pub facts: Vec<(String, String)>,
    /// Systems that cannot be measured here, with the reason.
    pub absent: Vec<(String, String)>,
}

impl Opened {
    /// An engine that can measure every system.
    pub fn new(engine: impl Engine + 'static) -> Self {
        Self {
            engine: Box::new(engine),
            facts: Vec::new(),
            absent: Vec::new(),
        }
    }
}

/// Takes the measurements of an experiment.
pub trait Engine: Sync {
    /// True if the system can be measured in this case.
    fn suits(&self, _case: &Entry, _system: &Entry) -> bool {
        true
    }

    /// Takes one measurement of `seconds`, warm-up not included. Ends early, with a failure, when `stop` becomes
    /// true.
    ///
    /// # Errors
    /// The reason, for the user. The turn is repeated once, then skipped. A sample with the flag
    /// [`last`](Sample::last) is not repeated.
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample>;
}

/// A chart for each case, with one curve of a series per system.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The series to draw. Its elements are spaced evenly from the start of the axis to its end.
    pub series: &'static str,
    /// Caption: one sentence.
    pub words: &'static str,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// A vertical line at this value of the horizontal axis, with its label.
    pub mark: Option<(f64, &'static str)>,
}

/// An axis of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub title: &'static str,
    /// Value at its start.
    pub from: f64,
    /// Value at its end; infinite to end a vertical axis at the largest value drawn.
    pub to: f64,
    /// True if the axis is logarithmic.
    pub log: bool,
    /// True if values are shares, labelled in percent.
    pub percent: bool,
}

impl Axis {
    /// `count` evenly spaced values, both ends included.
    pub fn steps(&self, count: usize) -> impl Iterator<Item = f64> + use<> {
        let axis = *self;
        (0..count).map(move |step| axis.at(step as f64 / (count - 1).max(1) as f64))
    }

    /// Values spaced evenly from the axis's start to its end, as points.
    pub(crate) fn spaced(&self, values: &[f64]) -> Vec<(f64, f64)> {
        self.steps(values.len()).zip(values.iter().copied()).collect()
    }

    /// The value at a position along the axis, 0 to 1.
    pub(crate) fn at(&self, along: f64) -> f64 {
        match self.log {
            true => self.from * (self.to / self.from).powf(along),
            false => self.from + (self.to - self.from) * along,
        }
    }

    /// The position of a value along the axis, 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let along = match self.log {
            true => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        along.clamp(0.0, 1.0)
    }
}
