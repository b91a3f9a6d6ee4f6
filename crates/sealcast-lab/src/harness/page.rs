//! The report page: one self-contained file. Findings come first, then charts, the table and the method.

use std::fmt::Write;

use super::column::Column;
use super::controls::Controls;
use super::definition::{Definition, Entry, Published};
use super::html::{CLOSE_TABLE, anchor, escape, open_table, prose};
use super::results::{Results, Row};
use super::statistics::{Estimate, INTERVALS};
use super::table::intervals;
use super::{boxes, chart, findings};

/// The same style as the demo's page.
const STYLE: &str = include_str!("page.css");
/// Explanation for readers of what findings rest on.
const FINDINGS: &str = "A finding compares two systems by their differences within each of at least seven rounds, so \
    that what changes from one round to the next is in none of them. It names a difference where the interval of these \
    differences is on one side of none at all, and the difference is large enough to matter; otherwise the two are not \
    told apart.";

/// The page in HTML.
pub(crate) fn page(results: &Results, method: &[String]) -> String {
    let definition = &results.definition;
    let mut page = found(results);
    for drawn in &results.charts {
        page.push_str(&chart::curves(results, drawn));
    }
    page.push_str("<div class=\"charts\">\n");
    for column in results.columns.iter().filter(|column| column.drawn) {
        page.push_str(&chart::bars(results, column));
    }
    for column in &results.columns {
        page.push_str(&boxes::of_column(results, column));
    }
    page.push_str("</div>\n");
    tables(&mut page, results);
    sources(&mut page, &definition.published);
    entries(&mut page, definition);
    let method = method.iter().map(String::as_str).chain([INTERVALS, FINDINGS]);
    list(&mut page, "Method", method.map(prose));
    let disproof = format!("Otherwise than expected would be: {}", definition.disproved_by);
    let _ = writeln!(
        page,
        "<article class=\"prose\"><h2>What would disprove it</h2><p>{}</p></article>",
        escape(&disproof)
    );
    surroundings(&mut page, results);
    whole(&definition.title, &definition.asks, &page)
}

/// A page of these contents, in HTML.
pub(crate) fn whole(title: &str, words: &str, contents: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         <header><h1>{title}</h1><p>{}</p></header>\n<main>\n{contents}</main>\n</html>\n",
        escape(words)
    )
}

/// The page's part on what was found, what was not, and what is known of it; empty if there is nothing to say.
fn found(results: &Results) -> String {
    let mut page = String::new();
    for sentence in findings::headline(results) {
        let _ = writeln!(page, "<p class=\"verdict\">{}</p>", escape(&sentence));
    }
    for words in findings::withheld(results) {
        let _ = writeln!(page, "<p class=\"words\">{}</p>", escape(&words));
    }
    let targets = findings::targets(results).into_iter();
    let targets = targets.map(|target| (target.contains(" is missed: "), target));
    let controls = Controls::of(results).lines().into_iter();
    judged(
        &mut page,
        "Controls",
        controls.map(|(line, fails)| (fails, line)).collect(),
    );
    judged(&mut page, "Targets", targets.collect());
    if !results.missing.is_empty() {
        page.push_str("<h2>Not measured</h2><ul>\n");
        for missing in &results.missing {
            let _ = writeln!(page, "<li>{}</li>", escape(missing));
        }
        page.push_str("</ul>\n");
    }
    let details = findings::details(results);
    if !details.is_empty() {
        page.push_str("<details><summary>Each comparison</summary><ul>\n");
        for detail in details {
            let _ = writeln!(page, "<li>{}</li>", escape(&detail));
        }
        page.push_str("</ul></details>\n");
    }
    match page.is_empty() {
        true => page,
        false => format!("<article class=\"found\">\n{page}</article>\n"),
    }
}

/// Lines that are good or bad, under a heading; nothing if there are none.
fn judged(page: &mut String, heading: &str, lines: Vec<(bool, String)>) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h2>{heading}</h2><ul>");
    for (is_bad, line) in lines {
        let class = if is_bad { "bad" } else { "good" };
        let _ = writeln!(page, "<li class=\"{class}\">{}</li>", escape(&line));
    }
    page.push_str("</ul>\n");
}

/// A table for each section.
fn tables(page: &mut String, results: &Results) {
    page.push_str("<article><h2>Figures</h2>\n");
    for (columns, rows) in results.sections() {
        table(page, results, &columns, rows);
    }
    page.push_str("</article>\n");
}

fn table(page: &mut String, results: &Results, columns: &[usize], rows: &[Row]) {
    let shown = || columns.iter().map(|&at| (at, &results.columns[at]));
    page.push_str(&open_table(""));
    let words = intervals(rows.iter()).replace("(a to b)", "Below each figure, a to b");
    let _ = write!(page, "<caption>{words}</caption>\n<tr><th scope=\"col\"></th>");
    for (_, column) in shown() {
        let _ = write!(
            page,
            "<th scope=\"col\">{}<small>{}</small></th>",
            escape(column.title),
            escape(column.unit)
        );
    }
    page.push_str("</tr>\n");
    for rows in rows.chunk_by(|a, b| a.case.name == b.case.name) {
        let span = shown().count() + 1;
        let _ = writeln!(
            page,
            "<tr class=\"case\"><td colspan=\"{span}\">{}</td></tr>",
            escape(&rows[0].case.name)
        );
        for row in rows {
            let _ = write!(
                page,
                "<tr id=\"{}\"><td class=\"{}\">{}</td>",
                anchor(&row.case.name, &row.system.name),
                chart::colour(results, row),
                escape(&row.system.name)
            );
            for (at, column) in shown() {
                page.push_str(&cell(column, row, at));
            }
            page.push_str("</tr>\n");
        }
    }
    page.push_str(CLOSE_TABLE);
}

/// Where published figures come from.
fn sources(page: &mut String, published: &[Published]) {
    let sources = published.chunk_by(|a, b| a.source == b.source).map(|of_one| {
        let mut names: Vec<String> = of_one.iter().map(|one| escape(&one.system)).collect();
        names.sort();
        names.dedup();
        format!("<b>{}</b>: {}", names.join(", "), escape(&of_one[0].source))
    });
    list(page, "Published figures", sources);
}

fn cell(column: &Column, row: &Row, at: usize) -> String {
    match row.figures[at] {
        None => format!("<td>{}</td>", column.nothing(row.samples.is_empty()).unwrap_or("–")),
        Some(Estimate { median, low, high }) if low == high => format!("<td>{}</td>", column.written(median)),
        Some(Estimate { median, low, high }) => {
            let [median, low, high] = [median, low, high].map(|value| column.written(value));
            format!("<td>{median}<small>{low} to {high}</small></td>")
        }
    }
}

/// Descriptions of cases and systems.
fn entries(page: &mut String, definition: &Definition) {
    let described = |entry: &Entry| match entry.words.as_str() {
        "" => None,
        words => Some(format!("<b>{}</b>: {}", escape(&entry.name), prose(words))),
    };
    for (heading, entries) in [("Cases", &definition.cases), ("Systems", &definition.systems)] {
        list(page, heading, entries.iter().filter_map(described));
    }
}

/// Paragraphs of HTML under a heading; empty if there are none.
fn list(page: &mut String, heading: &str, paragraphs: impl Iterator<Item = String>) {
    let paragraphs: String = paragraphs.map(|words| format!("<p>{words}</p>\n")).collect();
    if !paragraphs.is_empty() {
        let _ = writeln!(
            page,
            "<article class=\"prose\"><h2>{heading}</h2>\n{paragraphs}</article>"
        );
    }
}

fn surroundings(page: &mut String, results: &Results) {
    page.push_str("<article class=\"prose\"><h2>Where and when</h2><dl>\n");
    let rounds = ("rounds".to_owned(), results.rounds().to_string());
    for (name, value) in results.facts.iter().chain([&rounds]) {
        let _ = writeln!(page, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    page.push_str("</dl></article>\n");
}
