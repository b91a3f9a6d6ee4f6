//! The table of results, for terminals, documents and programs.

use std::fmt::Write;

use super::column::Column;
use super::controls::Controls;
use super::definition::{Definition, Entry};
use super::markdown::{aligned, line_width};
use super::results::{Results, Row};
use super::statistics::Estimate;
use super::{findings, judged};

/// Width of a terminal's tables, in columns.
const TERMINAL: usize = 100;

/// Findings, the table of the cases that the terminal shows, and remarks, as Markdown. What does not fit into a
/// terminal is left out of the tables and named, unless they are `wide`.
pub fn terminal(results: &Results, wide: bool) -> String {
    let width = if wide { usize::MAX } else { TERMINAL };
    text(results, &results.definition.terminal_cases, width)
}

/// Findings, all tables and remarks as Markdown, ready for documents.
pub(crate) fn document(results: &Results) -> String {
    text(results, &[], usize::MAX)
}

fn text(results: &Results, cases: &[String], width: usize) -> String {
    let mut text = String::new();
    for sentence in findings::headline(results) {
        let _ = writeln!(text, "{sentence}\n");
    }
    for words in findings::withheld(results) {
        let _ = writeln!(text, "{words}\n");
    }
    text.push_str(&tables(results, cases, width));
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
fn tables(results: &Results, cases: &[String], width: usize) -> String {
    let named = |row: &&Row| cases.contains(&row.case.name);
    let any = results.rows.iter().any(|row| named(&row));
    let sections = results.sections().into_iter().filter_map(|(columns, rows)| {
        let rows: Vec<&Row> = rows.iter().filter(|row| !any || named(row)).collect();
        (!rows.is_empty()).then(|| markdown(results, &columns, &rows, width))
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// Explanation of the intervals in a table, for its head; empty if it has none.
pub(crate) fn intervals<'a>(rows: impl Iterator<Item = &'a Row>) -> &'static str {
    match rows.map(|row| row.samples.len()).max() {
        None | Some(0 | 1) => "One round: no intervals.",
        Some(2..6) => "(a to b): the least and the greatest round; of a mean, its 95 % interval.",
        Some(_) => "(a to b): 95 % interval.",
    }
}

/// One table: these columns of these rows, as many as are not wider than this.
fn markdown(results: &Results, columns: &[usize], rows: &[&Row], width: usize) -> String {
    let names = lines(&["case", "system"].map(str::to_owned), rows, |row| {
        vec![row.case.name.clone(), row.system.name.clone()]
    });
    let mut all = names;
    let mut left_out = Vec::new();
    for &at in columns {
        let column = &results.columns[at];
        let own = lines(&[column.head()], rows, |row| vec![cell(column, row, at)]);
        let with: Vec<Vec<String>> = all
            .iter()
            .zip(&own)
            .map(|(line, cell)| [&line[..], cell].concat())
            .collect();
        if line_width(&with) <= width {
            all = with;
        } else {
            left_out.push(column.title);
        }
    }
    let mut text = format!("{}\n\n{}", intervals(rows.iter().copied()), aligned(&all, 2));
    if !left_out.is_empty() {
        let _ = writeln!(text, "\nBy --wide also: {}.", left_out.join("; "));
    }
    text
}

/// A head, and a line for each row.
fn lines(head: &[String], rows: &[&Row], line: impl Fn(&Row) -> Vec<String>) -> Vec<Vec<String>> {
    let rows = rows.iter().map(|row| line(row));
    std::iter::once(head.to_vec()).chain(rows).collect()
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

/// All tables for a paper in LaTeX, with the rules of the package `booktabs`.
pub fn latex(results: &Results) -> String {
    let mut text = "% In the preamble: \\usepackage{booktabs}\n".to_owned();
    for (columns, rows) in results.sections() {
        let rows: Vec<&Row> = rows.iter().collect();
        let columns: Vec<&Column> = columns.iter().map(|&at| &results.columns[at]).collect();
        let head = |lines: fn(&Column) -> &str| -> String {
            columns
                .iter()
                .map(|column| format!(" & {}", tex(lines(column))))
                .collect()
        };
        let _ = writeln!(
            text,
            "% {}\n\\begin{{tabular}}{{ll{}}}\n\\toprule\ncase & system{} \\\\\n &{} \\\\\n\\midrule",
            tex(intervals(rows.iter().copied())),
            "r".repeat(columns.len()),
            head(|column| column.title),
            head(|column| column.unit)
        );
        for row in rows {
            let places = results.columns.iter().enumerate();
            let shown = places.filter(|(_, column)| columns.iter().any(|own| own.key == column.key));
            let cells: String = shown
                .map(|(at, column)| format!(" & {}", tex(&cell(column, row, at))))
                .collect();
            let _ = writeln!(text, "{} & {}{cells} \\\\", tex(&row.case.name), tex(&row.system.name));
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
    }
    text
}

/// Text as LaTeX has it.
fn tex(text: &str) -> String {
    let mut written = String::new();
    for letter in text.chars() {
        match letter {
            '%' | '&' | '_' | '#' | '$' | '{' | '}' => written.extend(['\\', letter]),
            '\\' => written.push_str("\\textbackslash{}"),
            '~' => written.push_str("\\textasciitilde{}"),
            '^' => written.push_str("\\textasciicircum{}"),
            '\u{2212}' => written.push_str("$-$"),
            '\u{b5}' | '\u{3bc}' => written.push_str("$\\mu$"),
            '\u{b1}' => written.push_str("$\\pm$"),
            other => written.push(other),
        }
    }
    written
}

/// `table.csv`: the parameters of cases and systems, then all columns, with the ends of their intervals.
///
/// # Errors
/// None in practice, since it writes to memory; the writer's type has an error.
pub fn csv(results: &Results) -> csv::Result<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::record::{Header, Outcome, Record};
    use crate::harness::sample::Sample;
    use crate::harness::turn::Turn;

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 1\n\
        [[case]]\nname = \"near_by\"\n[[system]]\nname = \"ours & theirs\"\n";

    fn measured(rounds: usize) -> Results {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let mut record = Record::open(folder.path(), Header::new(&definition, Vec::new(), Vec::new())).expect("new");
        for round in 0..rounds {
            let turn = Turn {
                round,
                case: "near_by".to_owned(),
                system: "ours & theirs".to_owned(),
            };
            let sample = ["first", "second", "third", "fourth", "fifth", "sixth"]
                .iter()
                .fold(Sample::default(), |sample, key| sample.with(key, 10.0 + round as f64));
            record.add(turn, Outcome::Sample(sample)).expect("written");
        }
        let columns = ["first", "second", "third", "fourth", "fifth", "sixth"]
            .map(|key| Column::median(key, key, "\u{b5}s a frame"));
        Results::new(definition, columns.into(), Vec::new(), record)
    }

    #[test]
    fn a_terminals_tables_fit_and_name_what_only_wide_ones_have() {
        let results = measured(7);
        let narrow = terminal(&results, false);
        let widths = narrow
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.chars().count());
        assert!(
            widths.clone().max() <= Some(TERMINAL) && widths.count() == 3,
            "{narrow}"
        );
        assert!(
            narrow.contains("By --wide also: ") && narrow.contains("sixth."),
            "{narrow}"
        );
        let wide = terminal(&results, true);
        assert!(wide.contains(" sixth, ") && !wide.contains("--wide"), "{wide}");
    }

    #[test]
    fn each_table_says_what_its_intervals_are() {
        for (rounds, words) in [
            (1, "One round"),
            (3, "the least and the greatest round"),
            (6, "95 % interval"),
        ] {
            assert!(terminal(&measured(rounds), false).contains(words), "{rounds}");
        }
    }

    #[test]
    fn a_table_for_latex_has_booktabs_rules_and_nothing_that_latex_would_read() {
        let text = latex(&measured(7));
        let row = "near\\_by & ours \\& theirs & 13.0 (10.0 to 16.0)";
        for words in ["\\toprule", "\\midrule", "\\bottomrule", "$\\mu$s a frame", row] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(text.matches("\\begin{tabular}{llrrrrrr}").count(), 1);
    }
}
