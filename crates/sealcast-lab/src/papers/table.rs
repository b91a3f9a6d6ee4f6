//! A table of an item: the paper's values, and ours below each.

use std::fmt::Write;

use sealcast::meter::resources::NOT_MEASURABLE;

use super::data::{Beside, Quantity, Row, Table};
use super::evidence::Evidence;
use crate::harness::html::{CLOSE_TABLE, anchor, escape, open_table};
use crate::harness::statistics::Estimate;
use crate::harness::{self, Results, chart, number};

/// Tally of what was measured of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Values of the paper that have a figure of ours beside them, and all that it has.
    pub(super) there: usize,
    pub(super) wanted: usize,
    /// Rows of ours that were measured, whatever figures they have.
    pub(super) rows: usize,
    /// In words what is not there.
    pub(super) lacks: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.there += other.there;
        self.wanted += other.wanted;
        self.rows += other.rows;
        for words in other.lacks {
            if !self.lacks.contains(&words) {
                self.lacks.push(words);
            }
        }
    }
}

/// Our figures of a row of the paper: the rows of the results, or the names of what is not in the record.
fn ours<'a>(results: &'a Results, beside: &Beside) -> Vec<&'a harness::Row> {
    let is_it = |row: &&harness::Row| row.case.name == beside.case && row.system.goes_by(&beside.system);
    let measured = |row: &&harness::Row| !row.samples.is_empty();
    results.rows.iter().filter(is_it).filter(measured).collect()
}

/// Counts what a resolved table has beside the paper's own values. Columns and rows that the paper does not have count
/// for nothing. A condition whose values are only drawn has one in each column with figures of ours.
pub(super) fn tally(table: &Table, evidence: &Evidence) -> Tally {
    let mut tally = Tally::default();
    let Some(results) = evidence.results(&table.experiment) else {
        return tally;
    };
    let own = || table.rows.iter().filter(|row| !row.is_added);
    for row in own() {
        tally.rows += row.ours.iter().map(|beside| ours(results, beside).len()).sum::<usize>();
        for beside in row.ours.iter().filter(|beside| ours(results, beside).is_empty()) {
            let why = reason(results, beside);
            tally.lacks.push(format!("{} in {}: {why}", beside.system, beside.case));
        }
    }
    for (at, column) in table.columns.iter().enumerate() {
        let has_value = |row: &&Row| match row.values.get(at) {
            Some(value) => !value.is_empty(),
            None => !column.key.is_empty(),
        };
        tally.add(of_column(column, results, &own().filter(has_value).collect::<Vec<_>>()));
    }
    tally
}

/// Counts the values of the paper in a column, and those that have a figure of ours beside them.
fn of_column(column: &Quantity, results: &Results, valued: &[&Row]) -> Tally {
    let mut tally = Tally {
        wanted: valued.len(),
        ..Tally::default()
    };
    if valued.is_empty() {
        return tally;
    }
    let title = titled(column, Some(results));
    let Some(at) = place(results, column) else {
        tally.lacks.push(format!("{title}: no experiment has it"));
        return tally;
    };
    let known = &results.columns[at];
    // The baseline itself has no difference from it.
    let reference = known.reference(&results.definition.baseline);
    let rows = |row: &&Row| -> Vec<&harness::Row> {
        let all = row.ours.iter().flat_map(|beside| ours(results, beside));
        all.filter(|row| reference != Some(&row.system.name)).collect()
    };
    let has = |row: &&harness::Row| row.figures[at].is_some();
    tally.there = valued.iter().filter(|row| rows(row).iter().any(has)).count();
    let without: Vec<&str> = valued
        .iter()
        .flat_map(rows)
        .filter(|row| !has(row))
        .map(|row| row.system.name.as_str())
        .collect();
    if tally.there == 0 {
        tally.lacks.push(format!(
            "{title}: {}",
            known.nothing(false).unwrap_or("no figure at all")
        ));
        let unmeasurable = results
            .facts
            .iter()
            .filter(|(_, value)| value.starts_with(NOT_MEASURABLE));
        tally
            .lacks
            .extend(unmeasurable.map(|(name, value)| format!("{name}: {value}")));
    } else if !without.is_empty() {
        tally.lacks.push(format!("{title}: not of {}", without.join(", ")));
    }
    tally
}

/// Reason why there is no row: what the record says of it, or that it was not asked for.
fn reason(results: &Results, beside: &Beside) -> String {
    let said = results.missing.iter().find_map(|words| {
        let (of, why) = words.split_once(": ")?;
        let (system, cases) = of.split_once(" in ").unwrap_or((of, &beside.case));
        let family = system.split('/').next()?;
        ((system == beside.system || family == beside.system) && cases.contains(&beside.case)).then(|| why.to_owned())
    });
    said.unwrap_or_else(|| "not in the record".to_owned())
}

/// The place of the column with our figures.
fn place(results: &Results, column: &Quantity) -> Option<usize> {
    results.columns.iter().position(|known| known.key == column.key)
}

/// A resolved table in HTML, without rows that neither the paper nor the record has, and with a sentence on where our
/// figures come from.
pub(super) fn html(table: &Table, evidence: &Evidence) -> String {
    let results = evidence.results(&table.experiment);
    let is_there = |row: &&Row| {
        let mut all = row.ours.iter();
        !row.is_added || results.is_some_and(|results| all.any(|beside| !ours(results, beside).is_empty()))
    };
    let rows: Vec<&Row> = table.rows.iter().filter(is_there).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut html = String::new();
    if !table.title.is_empty() {
        let _ = writeln!(html, "<h3>{}</h3>", escape(&table.title));
    }
    html.push_str(&open_table("beside"));
    html.push_str("<tr><th scope=\"col\"></th>");
    for column in &table.columns {
        let _ = write!(
            html,
            "<th scope=\"col\">{}<small>{}</small></th>",
            escape(&titled(column, results)),
            escape(&column.unit)
        );
    }
    if !table.remarks.is_empty() {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escape(&table.remarks));
    }
    html.push_str("</tr>\n");
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = &row.group;
            let span = table.columns.len() + 1;
            let _ = writeln!(
                html,
                "<tr class=\"case\"><td colspan=\"{span}\">{}</td></tr>",
                escape(group)
            );
        }
        theirs(&mut html, table, row);
        let Some(results) = results else { continue };
        for beside in &row.ours {
            for measured in ours(results, beside) {
                own(&mut html, table, results, measured, &row.remark);
            }
        }
    }
    html.push_str(CLOSE_TABLE);
    if results.is_some() {
        let _ = writeln!(html, "<p class=\"words\">Ours: {}</p>", sources(&table.experiment));
    }
    html
}

/// The title of a column, with the values of settings of the experiment.
fn titled(column: &Quantity, results: Option<&Results>) -> String {
    let mut title = column.title.clone();
    for (name, value) in results.into_iter().flat_map(|results| &results.definition.settings) {
        let value = match value.as_float() {
            Some(number) if number >= 1e6 => format!("{number:e}"),
            _ => value.to_string(),
        };
        title = title.replace(&format!("{{{name}}}"), &value);
    }
    // Without a record nothing is known of its settings.
    match (title.split_once('{'), title.split_once('}')) {
        (Some((before, _)), Some((_, behind))) => format!("{before}…{behind}"),
        _ => title,
    }
}

/// Links to an experiment's report, record, table and definition.
pub(super) fn sources(experiment: &str) -> String {
    let name = escape(experiment);
    format!(
        "experiment {name}: <a href=\"{name}/report.html\">report</a>, <a href=\"{name}/record.jsonl\">record</a>, \
         <a href=\"{name}/table.csv\">table</a>, <a href=\"{name}/definition.toml\">definition</a>"
    )
}

/// The paper's row.
fn theirs(html: &mut String, table: &Table, row: &Row) {
    let whose = if row.is_added { "not in the paper" } else { "paper" };
    let _ = write!(
        html,
        "<tr class=\"theirs\"><td>{}<small>{whose}</small></td>",
        escape(&row.name)
    );
    if row.values.is_empty() {
        let words = if row.is_added { "" } else { "only drawn" };
        let _ = write!(html, "<td colspan=\"{}\">{words}</td>", table.columns.len());
    }
    for value in &row.values {
        let _ = write!(
            html,
            "<td>{}</td>",
            if value.is_empty() {
                "–".to_owned()
            } else {
                escape(value)
            }
        );
    }
    html.push_str("</tr>\n");
}

/// A row of ours. Each figure is a link to its place in the experiment's report.
fn own(html: &mut String, table: &Table, results: &Results, row: &harness::Row, remark: &str) {
    let _ = write!(
        html,
        "<tr class=\"ours\"><td class=\"{}\">{}<small>ours, {}; n = {}</small></td>",
        chart::colour(results, row),
        escape(&row.system.name),
        escape(&row.case.name),
        row.samples.len(),
    );
    let href = format!(
        "{}/report.html#{}",
        table.experiment,
        anchor(&row.case.name, &row.system.name)
    );
    for column in &table.columns {
        let at = place(results, column).filter(|_| !column.key.is_empty());
        let Some(at) = at else {
            html.push_str("<td></td>");
            continue;
        };
        let known = &results.columns[at];
        let written = |value: f64| match column.factor {
            Some(factor) => {
                let value = value * factor + column.plus;
                number::written(value, precise(value))
            }
            None => known.written(value),
        };
        let _ = match row.figures[at] {
            None => write!(html, "<td>{}</td>", known.nothing(false).unwrap_or("–")),
            Some(Estimate { median, low, high }) => {
                let interval = match low == high {
                    true => String::new(),
                    false => format!("<small>{} to {}</small>", written(low), written(high)),
                };
                write!(
                    html,
                    "<td><a href=\"{}\">{}</a>{interval}</td>",
                    escape(&href),
                    written(median)
                )
            }
        };
    }
    if !table.remarks.is_empty() {
        let _ = write!(html, "<td>{}</td>", escape(remark));
    }
    html.push_str("</tr>\n");
}

/// Digits after the point that show three significant ones, also of a millionth.
fn precise(value: f64) -> usize {
    let power = value.abs().max(1e-9).log10().floor() as i32;
    (2 - power).clamp(0, 9) as usize
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Measured;
    use super::*;
    use crate::harness::record::{Header, Outcome, Record};
    use crate::harness::{Column, Definition, Sample, Turn};

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 1\n\
        seconds = 1\n[settings]\nguesses = 1e12\n[[case]]\nname = \"c\"\n[[system]]\nname = \"x\"\n\
        [[system]]\nname = \"y\"\n";
    const TABLE: &str = r#"
        experiment = "e"
        remarks = "attack"
        columns = [
            { title = "time at {guesses}", key = "ms" },
            { title = "energy", key = "mj" },
            { title = "more", key = "ms", factor = 100.0, plus = -100.0 },
        ]
        [[row]]
        name = "theirs"
        values = ["5", "ENERGY", ""]
        ours = ["c x"]
        remark = "none"
        [[row]]
        name = "ours alone"
        is_added = true
        ours = ["c y"]
    "#;

    /// A record in which `x` has milliseconds, and neither has energy.
    fn evidence() -> Evidence {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let header = Header::new(&definition, Vec::new(), Vec::new());
        let mut record = Record::open(folder.path(), header).expect("new");
        let turn = Turn {
            round: 0,
            case: "c".to_owned(),
            system: "x".to_owned(),
        };
        let sample = Sample::default().with("ms", 1.03);
        record.add(turn, Outcome::Sample(sample)).expect("written");
        let columns = vec![Column::median("ms", "time", "ms"), Column::median("mj", "energy", "mJ")];
        let results = Results::new(definition, columns, Vec::new(), record);
        Evidence {
            out: folder.path().to_owned(),
            all: vec![Measured::made("e", results)],
        }
    }

    fn table(energy: &str) -> Table {
        toml::from_str(&TABLE.replace("ENERGY", energy)).expect("a table")
    }

    #[test]
    fn only_values_that_the_paper_has_count_whatever_is_added_here() {
        let evidence = evidence();
        let whole = tally(&table(""), &evidence);
        assert_eq!(
            (whole.there, whole.wanted),
            (1, 1),
            "neither energy nor `y` is the paper's: {whole:?}"
        );
        let partly = tally(&table("7.5"), &evidence);
        assert_eq!((partly.there, partly.wanted), (1, 2), "{partly:?}");
        assert_eq!(partly.rows, 1);
        let mut both = table("7.5");
        both.rows[1].is_added = false;
        let lacks = tally(&both, &evidence).lacks;
        assert!(lacks.contains(&"y in c: not in the record".to_owned()), "{lacks:?}");
        assert!(
            partly.lacks.iter().any(|words| words.starts_with("energy")),
            "{partly:?}"
        );
        let mut unknown = table("7.5");
        unknown.columns[1].key = String::new();
        let partly = tally(&unknown, &evidence);
        assert_eq!(
            (partly.there, partly.wanted),
            (1, 2),
            "no experiment has it: {partly:?}"
        );
    }

    #[test]
    fn settings_remarks_and_shares_above_a_whole_are_written_out() {
        let html = html(&table("7.5"), &evidence());
        for words in ["time at 1e12", ">attack<", "<td>none</td>", ">3.00<"] {
            assert!(html.contains(words), "{words}: {html}");
        }
        let none = Evidence {
            all: Vec::new(),
            ..evidence()
        };
        assert!(super::html(&table("7.5"), &none).contains("time at …"));
    }
}
