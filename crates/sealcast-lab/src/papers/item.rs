//! An item of a paper on the page, and its state.

use std::fmt::Write;

use super::data::{Item, Paper, Table};
use super::evidence::Evidence;
use super::plot;
use super::table::{self, Tally};
use crate::harness::html::{escape, prose};

/// Most lines of what an item lacks; the experiment's report has all.
const MOST_LACKS: usize = 8;

/// Extent to which our figures of an item stand beside the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Measured,
    Partly,
    /// The experiment was measured and has no figure of it.
    NotHere,
    /// This build has no experiment for it.
    Later,
    /// Its experiment has no record, or none of its cases.
    NotMeasured,
}

impl State {
    pub(super) const ALL: [Self; 5] = [
        Self::Measured,
        Self::Partly,
        Self::NotHere,
        Self::Later,
        Self::NotMeasured,
    ];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Partly => "partly",
            Self::NotHere => "not measurable here",
            Self::Later => "later",
            Self::NotMeasured => "not measured",
        }
    }

    /// The words as a badge.
    pub(super) fn badge(self) -> String {
        format!(
            "<span class=\"state s-{}\">{}</span>",
            self.words().replace(' ', "-"),
            self.words()
        )
    }
}

/// An item with everything that the page shows of it.
pub(super) struct Shown<'a> {
    pub(super) paper: &'a Paper,
    pub(super) item: &'a Item,
    pub(super) state: State,
    tables: Vec<Table>,
    tally: Tally,
}

impl<'a> Shown<'a> {
    pub(super) fn new(paper: &'a Paper, item: &'a Item, evidence: &Evidence) -> Self {
        let tables: Vec<Table> = item.tables.iter().map(|table| paper.resolved(table)).collect();
        let mut tally = Tally::default();
        for table in &tables {
            tally.add(table::tally(table, evidence));
        }
        let experiments = || {
            tables
                .iter()
                .map(|table| &table.experiment)
                .filter(|name| !name.is_empty())
        };
        let is_complete = |name: &String| {
            evidence
                .of(name)
                .is_some_and(|measured| measured.results.is_some() && !measured.is_unfinished())
        };
        let state = if !item.later.is_empty() {
            State::Later
        } else if experiments().all(|name| evidence.results(name).is_none()) || tally.rows == 0 {
            State::NotMeasured
        } else if tally.there == 0 {
            State::NotHere
        } else if tally.there == tally.wanted && experiments().all(is_complete) {
            State::Measured
        } else {
            State::Partly
        };
        Self {
            paper,
            item,
            state,
            tables,
            tally,
        }
    }

    pub(super) fn anchor(&self) -> String {
        self.paper.anchor(self.item)
    }

    /// The experiments with our figures, in the order of the tables.
    pub(super) fn experiments(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for table in &self.tables {
            if !table.experiment.is_empty() && !names.contains(&table.experiment.as_str()) {
                names.push(&table.experiment);
            }
        }
        names
    }

    pub(super) fn html(&self, evidence: &Evidence) -> String {
        let item = self.item;
        let mut html = format!(
            "<section id=\"{}\" class=\"item\">\n<article class=\"prose\"><h2>{}: {} {}</h2>\n<p>{}</p>\n",
            self.anchor(),
            escape(&item.number),
            escape(&item.title),
            self.state.badge(),
            prose(&item.shows)
        );
        for words in &item.says {
            let _ = writeln!(html, "<p>{}</p>", prose(words));
        }
        for table in &self.tables {
            html.push_str(&table::html(table, evidence));
        }
        list(&mut html, "Conditions that differ", &item.differs);
        list(&mut html, "Not measurable here", &item.not_here);
        let later = Some(item.later.clone()).filter(|words| !words.is_empty());
        list(&mut html, "Not here yet", later.as_slice());
        list(&mut html, "Lacking in these records", &self.lacks(evidence));
        html.push_str("</article>\n");
        let plots = item.plots.iter().filter_map(|plot| {
            let results = evidence.results(&plot.experiment)?;
            Some(plot::html(plot, results)).filter(|drawn| !drawn.is_empty())
        });
        let plots: String = plots.collect();
        if !plots.is_empty() {
            let _ = writeln!(html, "<div class=\"charts\">\n{plots}</div>");
        }
        html + "</section>\n"
    }

    /// Words for what the records lack, and why.
    fn lacks(&self, evidence: &Evidence) -> Vec<String> {
        if self.state == State::Later {
            return Vec::new();
        }
        let mut lacks: Vec<String> = self.tally.lacks.iter().take(MOST_LACKS).cloned().collect();
        if self.tally.lacks.len() > MOST_LACKS {
            lacks.push(format!("and {} more", self.tally.lacks.len() - MOST_LACKS));
        }
        for name in self.experiments() {
            let Some(measured) = evidence.of(name) else { continue };
            match (&measured.failure, &measured.results) {
                (Some(failure), _) => lacks.push(format!("experiment {name}: {failure}")),
                (None, None) => lacks.push(format!("experiment {name}: it was not run")),
                (None, Some(results)) if measured.is_unfinished() => {
                    lacks.push(format!("experiment {name}: {}", measured.rounds(results)));
                }
                (None, Some(_)) => {}
            }
        }
        lacks
    }
}

/// A list under a heading; nothing without lines.
pub(super) fn list(html: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(html, "<h3>{heading}</h3><ul>");
    for line in lines {
        let _ = writeln!(html, "<li>{}</li>", prose(line));
    }
    html.push_str("</ul>\n");
}
