//! A table of words and figures, for the terminal, documents and the page.

use std::fmt::Write;

use crate::harness::html::{CLOSE_TABLE, escape, open_table};
use crate::harness::markdown::aligned;
use crate::harness::number;

/// Mark in place of a figure that there is not.
pub(super) const NOTHING: &str = "–";

/// A table. All rows are as long as the head.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Where the page's contents point to.
    pub(super) id: String,
    pub(super) title: String,
    /// Sentences below the title.
    pub(super) words: Vec<String>,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    /// The number of columns at the left that are words.
    pub(super) texts: usize,
    /// Sentences below the table.
    pub(super) notes: Vec<String>,
}

impl Table {
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", self.title);
        for words in &self.words {
            let _ = writeln!(text, "{words}\n");
        }
        if !self.rows.is_empty() {
            let head = self.head.iter().map(|&name| name.to_owned()).collect();
            let lines: Vec<Vec<String>> = std::iter::once(head).chain(self.rows.iter().cloned()).collect();
            text += &aligned(&lines, self.texts);
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "* {note}");
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        text
    }

    pub(super) fn html(&self) -> String {
        let mut html = format!("<article id=\"{}\"><h2>{}</h2>\n", self.id, escape(&self.title));
        for words in &self.words {
            let _ = writeln!(html, "<p class=\"words\">{}</p>", escape(words));
        }
        if !self.rows.is_empty() {
            let class = |at: usize| if at < self.texts { " class=\"words\"" } else { "" };
            let head = self.head.iter().enumerate();
            let head: String = head
                .map(|(at, name)| format!("<th scope=\"col\"{}>{}</th>", class(at), escape(name)))
                .collect();
            let _ = writeln!(html, "{}<tr>{head}</tr>", open_table(""));
            for row in &self.rows {
                html.push_str("<tr>");
                for (at, cell) in row.iter().enumerate() {
                    // The first is a name and stays on one line.
                    let class = if at > 0 { class(at) } else { "" };
                    let _ = write!(html, "<td{class}>{}</td>", escape(cell));
                }
                html.push_str("</tr>\n");
            }
            html.push_str(CLOSE_TABLE);
        }
        for note in &self.notes {
            let _ = writeln!(html, "<p class=\"words\">{}</p>", escape(note));
        }
        html + "</article>\n"
    }
}

/// A figure with three significant digits; a dash where there is none.
pub(super) fn figure(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value.is_finite() => number::written(value, number::digits(value)),
        _ => NOTHING.to_owned(),
    }
}

/// A duration in seconds, or in milliseconds where it is shorter than one.
pub(super) fn duration(seconds: f64) -> String {
    match seconds < 1.0 {
        true => format!("{} ms", figure(seconds * 1e3)),
        false => format!("{} s", figure(seconds)),
    }
}

/// A mean and its standard deviation, where there is one.
pub(super) fn spread(mean: f64, deviation: f64) -> String {
    match deviation.is_finite() {
        true => format!("{} ± {}", figure(mean), figure(deviation)),
        false => figure(mean),
    }
}

/// A count.
pub(super) fn count(value: u64) -> String {
    number::written(value as f64, 0)
}
