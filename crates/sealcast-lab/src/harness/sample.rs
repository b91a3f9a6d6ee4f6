//! The result of one measurement.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Values by name, and series of values. A value that could not be measured is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Single values.
    pub values: BTreeMap<String, f64>,
    /// Several values of a kind: one for each second, or a curve on the grid of its chart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<f64>>,
    /// Things that could not be measured in this turn, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// True if the system is not measured in this case in later rounds, for the reason in `lacks`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}

impl Sample {
    /// Adds a value; ignores one that is not finite.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        if value.is_finite() {
            self.values.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds a value if there is one; ignores one that is not finite.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Notes what could not be measured, with the reason.
    #[must_use]
    pub fn lacking(mut self, what: String) -> Self {
        self.lacks.push(what);
        self
    }

    /// Adds a series.
    #[must_use]
    pub fn with_series(mut self, name: &str, series: Vec<f64>) -> Self {
        self.series.insert(name.to_owned(), series);
        self
    }

    /// The value of this name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }
}
