//! Results computed from the samples of a record: a row for each system in each case.

use super::column::Column;
use super::definition::{Definition, Entry};
use super::environment;
use super::experiment::Chart;
use super::record::{Outcome, Record};
use super::sample::Sample;
use super::statistics::Estimate;

/// All figures, with the information needed to read them.
pub struct Results {
    /// The definition of the experiment.
    pub definition: Definition,
    /// The figures of a row.
    pub columns: Vec<Column>,
    /// The charts to draw.
    pub charts: Vec<Chart>,
    /// In the order of the definition, without rows that have no sample.
    pub rows: Vec<Row>,
    /// Systems or turns that could not be measured, with the reason.
    pub missing: Vec<String>,
    /// Facts about the environment, by name.
    pub facts: Vec<(String, String)>,
}

/// The results of a system in a case.
pub struct Row {
    /// The case.
    pub case: Entry,
    /// The system.
    pub system: Entry,
    /// One sample for each round, with the round's number.
    pub samples: Vec<(usize, Sample)>,
    /// In the order of the columns, in the units of `table.csv`.
    pub figures: Vec<Option<Estimate>>,
}

impl Row {
    /// The samples with their rounds, by reference.
    pub(crate) fn lent(&self) -> Vec<(usize, &Sample)> {
        self.samples.iter().map(|(round, sample)| (*round, sample)).collect()
    }

    /// The mean of a series over rounds, element by element; empty if there is none.
    pub(crate) fn curve(&self, series: &str) -> Vec<f64> {
        let all: Vec<&Vec<f64>> = self
            .samples
            .iter()
            .filter_map(|(_, sample)| sample.series.get(series))
            .collect();
        let length = all.iter().map(|series| series.len()).min().unwrap_or(0);
        let mean = |at: usize| all.iter().map(|series| series[at]).sum::<f64>() / all.len() as f64;
        (0..length).map(mean).collect()
    }
}

impl Results {
    pub(crate) fn new(definition: Definition, columns: Vec<Column>, charts: Vec<Chart>, record: Record) -> Self {
        let missing = missing(&record);
        let facts = facts(&definition, &record);
        let mut rows: Vec<Row> = Vec::new();
        for case in &definition.cases {
            for system in &definition.systems {
                let samples = samples(&record, case, system);
                if !samples.is_empty() {
                    rows.push(Row {
                        case: case.clone(),
                        system: system.clone(),
                        samples,
                        figures: Vec::new(),
                    });
                }
            }
        }
        let mut results = Self {
            definition,
            columns,
            charts,
            rows,
            missing,
            facts,
        };
        let figures: Vec<_> = results.rows.iter().map(|row| results.figures(row)).collect();
        for (row, figures) in results.rows.iter_mut().zip(figures) {
            row.figures = figures;
        }
        results
    }

    fn figures(&self, row: &Row) -> Vec<Option<Estimate>> {
        let own = row.lent();
        let figure = |column: &Column| {
            let Some(reference) = column.reference(&self.definition.baseline) else {
                return column.figure(&own, &[]);
            };
            let reference = self
                .row(&row.case.name, reference)
                .filter(|other| other.system != row.system)?;
            column.figure(&own, &reference.lent())
        };
        self.columns.iter().map(figure).collect()
    }

    /// The row of a system in a case.
    pub fn row(&self, case: &str, system: &str) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.case.name == case && row.system.name == system)
    }

    /// The number of rounds with at least one sample.
    pub(crate) fn rounds(&self) -> usize {
        self.rows.iter().map(|row| row.samples.len()).max().unwrap_or(0)
    }
}

/// The newest sample of each round.
fn samples(record: &Record, case: &Entry, system: &Entry) -> Vec<(usize, Sample)> {
    let mut samples: Vec<(usize, Sample)> = Vec::new();
    for taken in &record.taken {
        if taken.turn.case != case.name || taken.turn.system != system.name {
            continue;
        }
        if let Outcome::Sample(sample) = &taken.outcome {
            samples.retain(|(round, _)| *round != taken.turn.round);
            samples.push((taken.turn.round, sample.clone()));
        }
    }
    samples.sort_by_key(|(round, _)| *round);
    samples
}

fn missing(record: &Record) -> Vec<String> {
    let absent = record
        .header
        .absent
        .iter()
        .map(|(system, why)| format!("{system}: {why}"));
    let failed = record
        .failures()
        .map(|(turn, why)| format!("{} in {}, round {}: {why}", turn.system, turn.case, turn.round + 1));
    absent.chain(failed).collect()
}

/// Duration of the turns, and seed.
fn measured(definition: &Definition) -> String {
    match definition.seconds {
        0.0 => format!("seed {}", definition.seed),
        seconds => format!("{seconds} s in each turn; seed {}", definition.seed),
    }
}

fn facts(definition: &Definition, record: &Record) -> Vec<(String, String)> {
    let environment = &record.header.environment;
    let loads: Vec<f64> = record
        .taken
        .iter()
        .filter_map(|taken| taken.load_average.split(' ').next()?.parse().ok())
        .collect();
    let ends = [f64::min, f64::max].map(|end| loads.iter().copied().reduce(end).unwrap_or(f64::NAN));
    let own = [
        ("made", record.header.made.clone()),
        ("machine", environment.machine_line()),
        ("versions", environment.versions_line()),
        ("measured", measured(definition)),
        ("load average", format!("{:.1} to {:.1}", ends[0], ends[1])),
        ("TCP congestion control", environment::congestion_control()),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    own.chain(record.header.facts.iter().cloned()).collect()
}
