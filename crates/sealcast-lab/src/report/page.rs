//! The page of a report: one self-contained file.

use std::fmt::Write;

use jiff::Timestamp;

use super::end::End;
use super::figure::{Figure, STEPS};
use super::latency::Latency;
use super::resources::{CPU, FRAMES, STEADY, THROUGHPUT};
use super::table::{Table, count, figure};
use super::tables::sums;
use crate::harness::chart::Names;
use crate::harness::html::escape;
use crate::harness::page::whole;

/// Findings, in sentences.
pub(super) fn found(ends: &[End]) -> Vec<String> {
    let mut sentences = Vec::new();
    for end in ends {
        let steady = &end.resources.spreads[STEADY];
        if end.resources.seconds[STEADY] > 0.0 {
            let mean = |quantity: usize| figure(steady[quantity].mean);
            let cpu = match steady[CPU].windows {
                0 => String::new(),
                _ => format!(", {} % of a core", mean(CPU)),
            };
            sentences.push(format!(
                "The {} streamed for {} s: {} {}, {} Mbit/s{cpu}.",
                end.name,
                figure(end.resources.seconds[STEADY]),
                mean(FRAMES),
                end.role.frame_rate()[1],
                mean(THROUGHPUT),
            ));
        }
        sentences.extend(end.latencies.iter().filter_map(|latency| latencies(end, latency)));
        sentences.extend(end.beside.found());
    }
    if sentences.is_empty() {
        sentences.push("Nothing was streamed in these logs.".to_owned());
    }
    sentences
}

fn latencies(end: &End, latency: &Latency) -> Option<String> {
    let total = &latency.total;
    if total.count() == 0 {
        return None;
    }
    let quantile = |share| figure(total.quantile(share) / 1e3);
    Some(format!(
        "Latency of {} {}s at the {}: median {} ms, 95 % within {} ms, 99 % within {} ms. {}",
        count(total.count()),
        latency.kind.of,
        end.name,
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        sums(latency).unwrap_or_default(),
    ))
}

/// The page in HTML.
pub(super) fn page(ends: &[End], origin: Timestamp, tables: &[Table], figures: [&[Figure]; 2]) -> String {
    let [over_time, latencies] = figures;
    let mut sections = vec![("found", "Found".to_owned(), found_html(ends))];
    let widths = ends
        .iter()
        .flat_map(|end| &end.resources.series)
        .map(|series| series.width);
    let width = widths.fold(1.0, f64::max);
    let words = format!(
        "A point is the mean of {width} s, of rows logged ten times a second, by the clock of each end. A line is \
         broken where nothing was logged."
    );
    sections.push((
        "time",
        "Over time".to_owned(),
        charts("time", &words, over_time, Names::AtEnds),
    ));
    let words = format!(
        "Cumulative distributions, drawn in {STEPS} steps of equal shares; each value is within 0.1 %. A whole \
         that has outliers ends at 1.3 times its 99th percentile."
    );
    sections.push((
        "latency",
        "Latency".to_owned(),
        charts("latency", &words, latencies, Names::Across),
    ));
    for table in tables {
        sections.push((table.id.as_str(), table.title.clone(), table.html()));
    }
    sections.retain(|(_, _, html)| !html.is_empty());
    let mut contents = String::from("<nav>\n");
    for (id, title, _) in &sections {
        let _ = writeln!(contents, "<a href=\"#{id}\">{}</a>", escape(title));
    }
    contents.push_str("</nav>\n");
    let html = sections.into_iter().map(|(_, _, html)| html);
    let contents: String = std::iter::once(contents).chain(html).collect();
    let folders: Vec<String> = ends.iter().map(|end| end.folder.display().to_string()).collect();
    let words = format!("Logs of {}; the first begins at {:.6}.", folders.join(", "), origin);
    whole("What a run's logs show", &words, &contents)
}

fn found_html(ends: &[End]) -> String {
    let sentences = found(ends).into_iter();
    let sentences: String = sentences
        .map(|words| format!("<p class=\"verdict\">{}</p>\n", escape(&words)))
        .collect();
    format!("<article class=\"found\" id=\"found\">\n{sentences}</article>\n")
}

fn charts(id: &str, words: &str, figures: &[Figure], names: Names) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let drawn: String = figures.iter().map(|figure| figure.draw(names)).collect();
    format!(
        "<section id=\"{id}\"><p class=\"words\">{}</p><div class=\"charts\">\n{drawn}</div></section>\n",
        escape(words)
    )
}
