//! The page: `index.html`, made of the records and the papers' data alone.

use std::fmt::Write;
use std::path::Path;

use sealcast::failure::Result;

use super::claim;
use super::data::{Library, Paper};
use super::evidence::{Evidence, Measured};
use super::item::{Shown, State, list};
use super::table::sources;
use crate::harness::html::{CLOSE_TABLE, escape, open_table, prose};
use crate::harness::page::whole;
use crate::harness::record::unwritable;

/// The file.
const FILE: &str = "index.html";
const TITLE: &str = "Five papers beside sealcast";
const WORDS: &str = "Each figure and table with results of five research papers on encrypted live video, beside the \
same measured with sealcast on this machine.";
/// Sentences on what intervals and rows mean.
const READING: [&str; 4] = [
    "A row \u{201c}paper\u{201d} has the paper's values as printed; a row \u{201c}ours\u{201d} has the figure of \
     this machine and its 95 % interval; n is the number of rounds. Each of our figures leads to its place in the \
     report of its experiment.",
    "Ours are medians over rounds. Intervals say how repeatable a figure is here and now, not how another machine \
     would do: of fewer than six rounds they are the range of the rounds, and a single round has none.",
    "The papers' machines, networks and cameras are others than ours: each paper and each item says what differs. \
     Where a paper has intervals or standard deviations, they stand in a column; the others give none.",
    "Where a value exists only as a drawing in the paper, the page says so, with what the text says of it, and \
     guesses nothing.",
];

/// Writes the page of the records below `out`, and the report of each. Returns how many figures and tables have which
/// state, in words.
///
/// # Errors
/// There is no record, or the page cannot be written.
pub(crate) fn write(library: &Library, out: &Path) -> Result<String> {
    let evidence = Evidence::read(library, out)?;
    // The page links to reports. A run that was stopped has written none, and a record may have grown since.
    for measured in &evidence.all {
        measured.write(out)?;
    }
    let shown = shown(library, &evidence);
    let path = out.join(FILE);
    std::fs::write(&path, page(library, &shown, &evidence)).map_err(|error| unwritable(&path, &error))?;
    Ok(format!("{}; written: {}", counts(&shown), path.display()))
}

fn shown<'a>(library: &'a Library, evidence: &Evidence) -> Vec<Shown<'a>> {
    let items = library
        .papers
        .iter()
        .flat_map(|paper| paper.items.iter().map(move |item| (paper, item)));
    items.map(|(paper, item)| Shown::new(paper, item, evidence)).collect()
}

/// Number of figures and tables in each state.
fn counts(shown: &[Shown<'_>]) -> String {
    let drawn = || shown.iter().filter(|shown| shown.item.is_drawn_or_tabled());
    let counts = State::ALL.into_iter().filter_map(|state| {
        let count = drawn().filter(|shown| shown.state == state).count();
        (count > 0).then(|| format!("{count} {}", state.words()))
    });
    format!(
        "{} figures and tables: {}",
        drawn().count(),
        counts.collect::<Vec<_>>().join(", ")
    )
}

fn page(library: &Library, shown: &[Shown<'_>], evidence: &Evidence) -> String {
    let mut html = String::new();
    summary(&mut html, library, shown, evidence);
    measured(&mut html, evidence);
    contents(&mut html, library, shown, evidence);
    for paper in &library.papers {
        introduction(&mut html, paper, evidence);
        for one in shown.iter().filter(|shown| shown.paper.id == paper.id) {
            html.push_str(&one.html(evidence));
        }
    }
    whole(TITLE, WORDS, &html)
}

/// Counts by paper, and how to read the page.
fn summary(html: &mut String, library: &Library, shown: &[Shown<'_>], evidence: &Evidence) {
    let _ = writeln!(
        html,
        "<article class=\"found prose\" id=\"summary\">\n<p class=\"verdict\">{}.</p>",
        counts(shown)
    );
    if evidence.all.iter().any(Measured::is_quick) {
        html.push_str("<p>The runs are reduced (--quick): few rounds, and short ones.</p>\n");
    }
    html.push_str(&open_table("counts"));
    html.push_str("<tr><th scope=\"col\"></th>");
    for state in State::ALL {
        let _ = write!(html, "<th scope=\"col\">{}</th>", state.words());
    }
    html.push_str("</tr>\n");
    for paper in &library.papers {
        let _ = write!(
            html,
            "<tr><td><a href=\"#{}\">{}</a></td>",
            paper.id,
            escape(&paper.short)
        );
        for state in State::ALL {
            let is_its = |shown: &&Shown<'_>| shown.paper.id == paper.id && shown.item.is_drawn_or_tabled();
            let count = shown.iter().filter(is_its).filter(|shown| shown.state == state).count();
            let _ = write!(
                html,
                "<td>{}</td>",
                if count == 0 {
                    "–".to_owned()
                } else {
                    count.to_string()
                }
            );
        }
        html.push_str("</tr>\n");
    }
    html.push_str(CLOSE_TABLE);
    list(html, "How to read it", &READING.map(str::to_owned));
    html.push_str("</article>\n");
}

/// The experiments: when, where, how often, and where their files are.
fn measured(html: &mut String, evidence: &Evidence) {
    html.push_str("<article class=\"prose\" id=\"experiments\"><h2>Where and when</h2>\n<dl>\n");
    for (name, value) in common(evidence) {
        let _ = writeln!(html, "<dt>{}</dt><dd>{}</dd>", escape(&name), escape(&value));
    }
    html.push_str("</dl>\n<h3>Experiments</h3><ul>\n");
    for measured in &evidence.all {
        let name = &measured.needed.name;
        let words = match (&measured.results, &measured.failure) {
            (Some(results), failure) => {
                let quick = if measured.is_quick() { ", reduced (--quick)" } else { "" };
                let failure = failure
                    .as_ref()
                    .map_or_else(String::new, |why| format!("; {}", escape(why)));
                let made = results.facts.iter().find(|(name, _)| name == "made");
                let made = made.map_or("", |(_, value)| value);
                let (made, _) = made.split_once('.').unwrap_or((made, ""));
                format!(
                    "{}; {}{quick}, begun {} (UTC){failure}",
                    sources(name),
                    measured.rounds(results),
                    escape(made)
                )
            }
            (None, Some(failure)) => format!("experiment {name}: not measured: {}", escape(failure)),
            (None, None) => format!("experiment {name}: not run"),
        };
        let _ = writeln!(html, "<li>{words}</li>");
    }
    html.push_str("</ul></article>\n");
}

/// Facts that the records have in common, such as the machine; where records differ, each with its experiments.
fn common(evidence: &Evidence) -> Vec<(String, String)> {
    let mut common: Vec<(String, String, Vec<&str>)> = Vec::new();
    let mut count = 0;
    for measured in &evidence.all {
        let Some(results) = &measured.results else { continue };
        count += 1;
        for (name, value) in results
            .facts
            .iter()
            .filter(|(name, _)| ["machine", "versions"].contains(&name.as_str()))
        {
            match common.iter_mut().find(|(known, of, _)| known == name && of == value) {
                Some((_, _, experiments)) => experiments.push(&measured.needed.name),
                None => common.push((name.clone(), value.clone(), vec![&measured.needed.name])),
            }
        }
    }
    let said = common
        .into_iter()
        .map(|(name, value, experiments)| match experiments.len() == count {
            true => (name, value),
            false => (name, format!("{value} ({})", experiments.join(", "))),
        });
    said.collect()
}

/// All items with their states.
fn contents(html: &mut String, library: &Library, shown: &[Shown<'_>], evidence: &Evidence) {
    html.push_str("<article id=\"contents\"><h2>Contents</h2>\n");
    html.push_str(&open_table("contents"));
    for paper in &library.papers {
        let _ = writeln!(
            html,
            "<tr class=\"case\"><td colspan=\"4\"><a href=\"#{}\">{}</a></td></tr>",
            paper.id,
            escape(&format!("{}: {}", paper.short, paper.name))
        );
        for one in shown.iter().filter(|shown| shown.paper.id == paper.id) {
            let links = one.experiments().into_iter().map(|name| match evidence.results(name) {
                None => escape(name),
                Some(_) => format!("<a href=\"{0}/report.html\">{0}</a>", escape(name)),
            });
            let _ = writeln!(
                html,
                "<tr><td><a href=\"#{}\">{}</a></td><td class=\"words\">{}</td><td>{}</td><td>{}</td></tr>",
                one.anchor(),
                escape(&one.item.number),
                escape(&one.item.title),
                links.collect::<Vec<_>>().join(", "),
                one.state.badge()
            );
        }
    }
    html.push_str(CLOSE_TABLE);
    html.push_str("</article>\n");
}

/// Meaning of a verdict on a claim.
const JUDGED: &str = "A claim holds if the 95 % interval of each of its differences, taken round by round, lies on its \
side of nothing, and does not hold if one lies on the other side; of forty differences that are nothing, one comes out \
so by chance. Of several implementations of a cipher the best counts.";

/// The heading of a paper: its reference, the verdicts on its claims, and what differs throughout.
fn introduction(html: &mut String, paper: &Paper, evidence: &Evidence) {
    let link = match paper.link.is_empty() {
        true => String::new(),
        false => format!(" <a href=\"{0}\">{0}</a>", escape(&paper.link)),
    };
    let _ = writeln!(
        html,
        "<article class=\"paper prose\" id=\"{}\"><h2>{}</h2>\n<p>{}.{link}</p>\n<p>{}</p>",
        paper.id,
        escape(&paper.name),
        escape(&paper.reference),
        prose(&paper.about)
    );
    if !paper.claims.is_empty() {
        let lines = paper.claims.iter().map(|claim| claim::line(claim, evidence));
        let _ = writeln!(
            html,
            "<h3>What the paper says, and what holds here</h3><ul class=\"claims\">\n{}</ul>\n<p>{JUDGED}</p>",
            lines.collect::<String>()
        );
    }
    list(html, "Conditions that differ throughout", &paper.differs);
    list(html, "Not measurable here", &paper.not_here);
    html.push_str("<p><a href=\"#contents\">Contents</a></p></article>\n");
}
