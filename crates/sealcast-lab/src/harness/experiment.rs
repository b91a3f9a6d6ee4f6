//! What an experiment brings of its own: an engine that measures, and columns.

use sealcast::failure::Result;

use super::column::Column;
use super::definition::{Definition, Entry};
use super::process::Stop;
use super::sample::Sample;
use super::turn::Turn;

/// An experiment that is built in: definition, engine and columns.
pub struct Experiment {
    /// As definitions call it.
    pub name: &'static str,
    /// Its definition, in TOML.
    pub definition: &'static str,
    /// Sets up what measures.
    pub open: fn(&Definition, &Place<'_>) -> Result<Opened>,
    /// What is made of samples.
    pub columns: fn() -> Vec<Column>,
    /// What is drawn of series.
    pub charts: fn(&Definition) -> Vec<Chart>,
}

/// Where an engine may leave files.
pub struct Place<'a> {
    /// A folder that is there.
    pub folder: &'a std::path::Path,
}

/// An engine that is ready.
pub struct Opened {
    /// What measures.
    pub engine: Box<dyn Engine>,
    /// What has to be known of the surroundings, by name.
    pub facts: Vec<(String, String)>,
    /// Systems that cannot be measured here, and why.
    pub absent: Vec<(String, String)>,
}

impl Opened {
    /// An engine that can measure everybody.
    pub fn new(engine: impl Engine + 'static) -> Self {
        Self {
            engine: Box::new(engine),
            facts: Vec::new(),
            absent: Vec::new(),
        }
    }
}

/// What measures.
pub trait Engine: Sync {
    /// Whether the system can be measured in this case at all.
    fn suits(&self, _case: &Entry, _system: &Entry) -> bool {
        true
    }

    /// One measurement, of `seconds` that count. It ends early, with a failure, when `stop` turns true.
    ///
    /// # Errors
    /// In words; the turn is taken once more, then left out.
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample>;
}

/// Curves of a series, of all systems in each case: one chart for a case.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The series whose elements are drawn, evenly over the axis from its beginning to its end.
    pub series: &'static str,
    /// What it shows, in a sentence.
    pub words: &'static str,
    /// From left to right.
    pub x: Axis,
    /// From the bottom up.
    pub y: Axis,
    /// A line at this place of the horizontal axis, and what it is called.
    pub mark: Option<(f64, &'static str)>,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What is on it, with its unit.
    pub title: &'static str,
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Whether equal lengths are equal ratios.
    pub log: bool,
    /// Shares, which are written in percent.
    pub percent: bool,
}

impl Axis {
    /// The values of `count` even steps, both ends among them.
    pub fn steps(&self, count: usize) -> impl Iterator<Item = f64> + use<> {
        let axis = *self;
        (0..count).map(move |step| axis.at(step as f64 / (count - 1).max(1) as f64))
    }

    /// The value so far along, 0 to 1.
    pub(crate) fn at(&self, along: f64) -> f64 {
        match self.log {
            true => self.from * (self.to / self.from).powf(along),
            false => self.from + (self.to - self.from) * along,
        }
    }

    /// How far along a value is, 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let along = match self.log {
            true => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        along.clamp(0.0, 1.0)
    }
}
