//! Results computed from the samples of a record: a row for each system in each case.

use std::path::Path;

use sealcast::failure::Result;

use super::column::Column;
use super::definition::{Definition, Entry, Published};
use super::environment;
use super::experiment::{Chart, Experiment};
use super::record::{Outcome, Record};
use super::sample::Sample;
use super::statistics::Estimate;
use super::turn::Turn;

/// All figures, with the information needed to read them.
pub struct Results {
    /// The definition of the experiment.
    pub definition: Definition,
    /// The figures of a row.
    pub columns: Vec<Column>,
    /// The charts to draw.
    pub charts: Vec<Chart>,
    /// In the order of the definition, without rows that have no figure; published ones after those of their case.
    pub rows: Vec<Row>,
    /// Systems or turns that could not be measured, with the reason.
    pub missing: Vec<String>,
    /// Facts about the environment, by name.
    pub facts: Vec<(String, String)>,
    /// The command that measures all of it.
    pub command: String,
}

/// The results of a system in a case.
#[derive(Clone)]
pub struct Row {
    /// The case.
    pub case: Entry,
    /// The system.
    pub system: Entry,
    /// One sample for each round, with the round's number; none if the figures are published ones.
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
                let samples = samples(&record, &case.name, &system.name);
                let samples: Vec<(usize, Sample)> = samples.into_iter().map(|(at, one)| (at, one.clone())).collect();
                if !samples.is_empty() {
                    rows.push(Row {
                        case: case.clone(),
                        system: system.clone(),
                        samples,
                        figures: Vec::new(),
                    });
                }
            }
            rows.extend(
                definition
                    .published
                    .iter()
                    .filter(|one| one.case == case.name)
                    .map(|one| published(case, one)),
            );
        }
        deduct(&mut rows, &columns);
        let mut results = Self {
            command: format!("sealcast-lab {}", definition.experiment),
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
        results.rows.retain(|row| row.figures.iter().any(Option::is_some));
        results
    }

    /// The results in the record of a folder, which may be unfinished.
    ///
    /// # Errors
    /// There is no record, or it is none of this program.
    pub(crate) fn load(experiment: &Experiment, folder: &Path) -> Result<Self> {
        let record = Record::load(folder)?;
        let definition = record.header.definition.clone();
        let charts = (experiment.charts)(&definition);
        Ok(Self::new(definition, (experiment.columns)(), charts, record))
    }

    /// The rows of these cases and systems alone, and the published ones of the cases. A system is named as with
    /// `--only`; no name means all.
    pub(crate) fn narrowed(&self, cases: &[String], systems: &[String]) -> Self {
        let is_case = |row: &Row| cases.is_empty() || cases.contains(&row.case.name);
        let is_system = |row: &Row| {
            systems.is_empty() || row.samples.is_empty() || systems.iter().any(|name| row.system.goes_by(name))
        };
        let rows = self.rows.iter().filter(|row| is_case(row) && is_system(row));
        Self {
            definition: self.definition.clone(),
            columns: self.columns.clone(),
            charts: self.charts.clone(),
            rows: rows.cloned().collect(),
            missing: Vec::new(),
            facts: Vec::new(),
            command: self.command.clone(),
        }
    }

    fn figures(&self, row: &Row) -> Vec<Option<Estimate>> {
        let here = |one: &&Published| (&one.case, &one.system) == (&row.case.name, &row.system.name);
        if let Some(published) = self.definition.published.iter().find(here) {
            let exact = |column: &Column| published.figures.get(column.key).copied().map(Estimate::exact);
            return self.columns.iter().map(exact).collect();
        }
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

    /// The rows in sections of a table: consecutive cases that have figures in the same of the shown columns, and
    /// the places of these columns.
    pub(crate) fn sections(&self) -> Vec<(Vec<usize>, &[Row])> {
        let mut sections: Vec<(Vec<usize>, &[Row])> = Vec::new();
        let mut begin = 0;
        for rows in self.rows.chunk_by(|a, b| a.case.name == b.case.name) {
            let is_used = |at: &usize| {
                let column = &self.columns[*at];
                column.shown && (column.absent.is_some() || rows.iter().any(|row| row.figures[*at].is_some()))
            };
            let used: Vec<usize> = (0..self.columns.len()).filter(is_used).collect();
            match sections.last_mut() {
                Some((columns, section)) if *columns == used => {
                    let from = begin - section.len();
                    *section = &self.rows[from..begin + rows.len()];
                }
                _ => sections.push((used, rows)),
            }
            begin += rows.len();
        }
        sections
    }

    /// The number of rounds with at least one sample.
    pub(crate) fn rounds(&self) -> usize {
        self.rows.iter().map(|row| row.samples.len()).max().unwrap_or(0)
    }
}

/// The newest sample of each round, with the round.
pub(crate) fn samples<'a>(record: &'a Record, case: &str, system: &str) -> Vec<(usize, &'a Sample)> {
    let mut samples: Vec<(usize, &Sample)> = Vec::new();
    for taken in &record.taken {
        if taken.turn.case != case || taken.turn.system != system {
            continue;
        }
        if let Outcome::Sample(sample) = &taken.outcome {
            samples.retain(|(round, _)| *round != taken.turn.round);
            samples.push((taken.turn.round, sample));
        }
    }
    samples.sort_by_key(|(round, _)| *round);
    samples
}

/// Adds to samples the values of columns with a deduction.
fn deduct(rows: &mut [Row], columns: &[Column]) {
    for column in columns {
        let Some((value, system)) = column.deducted else {
            continue;
        };
        for rows in rows.chunk_by_mut(|a, b| a.case.name == b.case.name) {
            let deducted = rows.iter().filter(|row| row.system.name == system);
            let deducted: Vec<(usize, f64)> = deducted
                .flat_map(|row| &row.samples)
                .filter_map(|(round, sample)| Some((*round, sample.value(value)?)))
                .collect();
            let others = rows.iter_mut().filter(|row| row.system.name != system);
            for (round, sample) in others.flat_map(|row| &mut row.samples) {
                let less = deducted.iter().find(|(other, _)| other == round);
                if let (None, Some(whole), Some((_, less))) = (sample.value(column.key), sample.value(value), less) {
                    sample.values.insert(column.key.to_owned(), whole - less);
                }
            }
        }
    }
}

/// A row of published figures, which are set later.
fn published(case: &Entry, published: &Published) -> Row {
    let system = Entry {
        name: published.system.clone(),
        words: published.source.clone(),
        fields: toml::Table::new(),
    };
    Row {
        case: case.clone(),
        system,
        samples: Vec::new(),
        figures: Vec::new(),
    }
}

/// Values that samples lack: a line for each system and reason, with the cases.
fn lacks(record: &Record) -> Vec<String> {
    let mut lacks: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for taken in &record.taken {
        let Outcome::Sample(sample) = &taken.outcome else {
            continue;
        };
        let Turn { case, system, .. } = &taken.turn;
        for why in &sample.lacks {
            match lacks.iter_mut().find(|(of, known, _)| of == system && known == why) {
                Some((_, _, cases)) if cases.contains(&case.as_str()) => {}
                Some((_, _, cases)) => cases.push(case),
                None => lacks.push((system, why, vec![case])),
            }
        }
    }
    let said = |(system, why, cases): &(&str, &str, Vec<&str>)| format!("{system} in {}: {why}", cases.join(", "));
    lacks.iter().map(said).collect()
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
    absent.chain(failed).chain(lacks(record)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::record::Header;

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 1\n\
        seconds = 1\n[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n[[case]]\nname = \"c\"\n\
        [[system]]\nname = \"x\"\n[[published]]\ncase = \"b\"\nsystem = \"y\"\nsource = \"a paper\"\n\
        figures = { ms = 7.0 }\n";

    fn results() -> Results {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let header = Header::new(&definition, Vec::new(), Vec::new());
        let mut record = Record::open(folder.path(), header).expect("new");
        for (case, value) in [("a", "ms"), ("b", "ms"), ("c", "bytes")] {
            let turn = Turn {
                round: 0,
                case: case.to_owned(),
                system: "x".to_owned(),
            };
            record
                .add(turn, Outcome::Sample(Sample::default().with(value, 1.0)))
                .expect("written");
        }
        let columns = ["ms", "bytes"].map(|key| Column::median(key, key, ""));
        Results::new(definition, columns.into(), Vec::new(), record)
    }

    #[test]
    fn published_figures_stand_behind_the_measured_ones_of_their_case() {
        let results = results();
        let names: Vec<&str> = results.rows.iter().map(|row| row.system.name.as_str()).collect();
        assert_eq!(names, ["x", "x", "y", "x"]);
        let row = results.row("b", "y").expect("it is there");
        assert_eq!((row.samples.len(), row.figures[0]), (0, Some(Estimate::exact(7.0))));
        assert_eq!((row.figures[1], results.rounds()), (None, 1));
    }

    #[test]
    fn a_deduction_is_that_of_the_same_case_and_round_and_spares_samples_with_a_value_of_their_own() {
        let sample = |values: &[(&str, f64)]| {
            values
                .iter()
                .fold(Sample::default(), |all, (name, value)| all.with(name, *value))
        };
        let row = |case: &str, system: &str, samples: Vec<(usize, Sample)>| Row {
            case: entry(case),
            system: entry(system),
            samples,
            figures: Vec::new(),
        };
        let mut rows = vec![
            row(
                "a",
                "pipe",
                vec![(0, sample(&[("ms", 1.0)])), (1, sample(&[("ms", 2.0)]))],
            ),
            row(
                "a",
                "piped",
                [0, 1, 2].map(|round| (round, sample(&[("ms", 9.0)]))).into(),
            ),
            row("a", "direct", vec![(0, sample(&[("ms", 7.0), ("net_ms", 7.0)]))]),
            row("b", "piped", vec![(0, sample(&[("ms", 9.0)]))]),
        ];
        deduct(&mut rows, &[Column::median("net_ms", "net", "ms").less("ms", "pipe")]);
        let net = |at: usize| -> Vec<_> { rows[at].samples.iter().map(|(_, one)| one.value("net_ms")).collect() };
        assert_eq!(net(0), [None, None]);
        assert_eq!(net(1), [Some(8.0), Some(7.0), None]);
        assert_eq!((net(2), net(3)), (vec![Some(7.0)], vec![None]));
    }

    fn entry(name: &str) -> Entry {
        Entry {
            name: name.to_owned(),
            words: String::new(),
            fields: toml::Table::new(),
        }
    }

    #[test]
    fn cases_with_figures_in_the_same_columns_share_a_section() {
        let results = results();
        let sections: Vec<(Vec<usize>, usize)> = results
            .sections()
            .into_iter()
            .map(|(columns, rows)| (columns, rows.len()))
            .collect();
        assert_eq!(sections, [(vec![0], 3), (vec![1], 1)]);
    }
}
