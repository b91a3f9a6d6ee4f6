//! The table of results, for terminals, documents and programs.

use std::fmt::Write;

use super::column::Column;
use super::controls::Controls;
use super::definition::{Definition, Entry};
use super::results::{Results, Row};
use super::statistics::Estimate;
use super::{findings, judged};

/// Findings, the table of the cases that the terminal shows, and remarks, as Markdown.
pub fn terminal(results: &Results) -> String {
    text(results, &results.definition.terminal_cases)
}

/// Findings, all tables and remarks as Markdown, ready for documents.
pub(crate) fn document(results: &Results) -> String {
    text(results, &[])
}

fn text(results: &Results, cases: &[String]) -> String {
    let mut text = String::new();
    for sentence in findings::headline(results) {
        let _ = writeln!(text, "{sentence}\n");
    }
    for words in findings::withheld(results) {
        let _ = writeln!(text, "{words}\n");
    }
    text.push_str(&tables(results, cases));
    text.push_str(&judged::text(results));
    text.push('\n');
    let controls = Controls::of(results)
        .lines()
        .into_iter()
        .map(|(line, _)| ("control", line));
    let targets = findings::targets(results).into_iter().map(|target| ("target", target));
    let missing = results.missing.iter().map(|missing| ("not measured", missing.clone()));
    let facts = results.facts.iter().map(|(name, value)| (name.as_str(), value.clone()));
    for (name, words) in controls.chain(targets).chain(missing).chain(facts) {
        let _ = writeln!(text, "* {name}: {words}");
    }
    text
}

/// The tables of these cases, one for each section; of all cases if none is named, or none of these is measured.
fn tables(results: &Results, cases: &[String]) -> String {
    let named = |row: &&Row| cases.contains(&row.case.name);
    let any = results.rows.iter().any(|row| named(&row));
    let sections = results.sections().into_iter().filter_map(|(columns, rows)| {
        let rows: Vec<&Row> = rows.iter().filter(|row| !any || named(row)).collect();
        (!rows.is_empty()).then(|| markdown(results, &columns, &rows))
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// One table: these columns of these rows.
fn markdown(results: &Results, columns: &[usize], rows: &[&Row]) -> String {
    let columns = || columns.iter().map(|&at| (at, &results.columns[at]));
    let mut lines = vec![vec!["case".to_owned(), "system".to_owned()]];
    lines[0].extend(columns().map(|(_, column)| column.head()));
    for row in rows {
        let mut line = vec![row.case.name.clone(), row.system.name.clone()];
        line.extend(columns().map(|(at, column)| cell(column, row, at)));
        lines.push(line);
    }
    aligned(&lines, 2)
}

/// Lines as a table in Markdown, the first of them its head. The first `words` columns are aligned left, figures right.
pub(crate) fn aligned(lines: &[Vec<String>], words: usize) -> String {
    let count = lines.first().map_or(0, Vec::len);
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = match at < words {
                true => write!(text, "| {cell:width$} "),
                false => write!(text, "| {cell:>width$} "),
            };
        }
        text.push_str("|\n");
        if index == 0 {
            for (at, width) in widths.iter().enumerate() {
                let dashes = "-".repeat(width + 1);
                text.push_str(&if at < words {
                    format!("|{dashes}-")
                } else {
                    format!("|{dashes}:")
                });
            }
            text.push_str("|\n");
        }
    }
    text
}

/// A figure with its interval, formatted for readers; a single sample has no interval.
fn cell(column: &Column, row: &Row, at: usize) -> String {
    match row.figures[at] {
        None => column.nothing(row.samples.is_empty()).unwrap_or("-").to_owned(),
        Some(Estimate { median, low, high }) if low == high => column.written(median),
        Some(Estimate { median, low, high }) => {
            let [median, low, high] = [median, low, high].map(|value| column.written(value));
            format!("{median} ({low} to {high})")
        }
    }
}

/// `table.csv`: the parameters of cases and systems, then all columns, with the ends of their intervals.
///
/// # Errors
/// None in practice, since it writes to memory; the writer's type has an error.
pub(crate) fn csv(results: &Results) -> csv::Result<Vec<u8>> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let [cases, systems] = [&results.definition.cases, &results.definition.systems].map(|entries| fields(entries));
    out.write_record(head(&results.definition, &results.columns))?;
    for row in &results.rows {
        let mut line = vec![row.case.name.clone()];
        line.extend(cases.iter().map(|name| value(&row.case, name)));
        line.push(row.system.name.clone());
        line.extend(systems.iter().map(|name| value(&row.system, name)));
        line.push(row.samples.len().to_string());
        line.extend(figures(results, row));
        out.write_record(line)?;
    }
    out.into_inner().map_err(|error| error.into_error().into())
}

/// The names of the columns of `table.csv`.
pub(crate) fn head(definition: &Definition, columns: &[Column]) -> Vec<String> {
    let [cases, systems] = [&definition.cases, &definition.systems].map(|entries| fields(entries));
    let parameters = [&["case"], &cases[..], &["system"], &systems, &["rounds"]].concat();
    let figures = columns.iter().flat_map(Column::names);
    parameters.into_iter().map(str::to_owned).chain(figures).collect()
}

/// The names of scalar parameters that any of the entries has.
fn fields(entries: &[Entry]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in entries.iter().flat_map(|entry| &entry.fields) {
        let single = !value.is_array() && !value.is_table();
        if single && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn value(entry: &Entry, name: &str) -> String {
    match entry.fields.get(name) {
        Some(toml::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn figures(results: &Results, row: &Row) -> Vec<String> {
    let mut values = Vec::new();
    for (column, figure) in results.columns.iter().zip(&row.figures) {
        let parts = figure.map(|figure| [figure.median, figure.low, figure.high]);
        let count = if column.is_estimate() { 3 } else { 1 };
        values.extend((0..count).map(|at| parts.map_or_else(String::new, |parts| parts[at].to_string())));
    }
    values
}
