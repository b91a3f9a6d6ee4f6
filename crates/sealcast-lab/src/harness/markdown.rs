//! Tables in Markdown whose columns are aligned.

use std::fmt::Write;

/// The width of the column at this place.
fn column_width(lines: &[Vec<String>], at: usize) -> usize {
    lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)
}

/// The width of a table as [`aligned`] writes it.
pub(super) fn line_width(lines: &[Vec<String>]) -> usize {
    let count = lines.first().map_or(0, Vec::len);
    (0..count).map(|at| column_width(lines, at) + 3).sum::<usize>() + 1
}

/// Lines as a table in Markdown, the first of them its head. The first `words` columns are aligned left, figures right.
pub(crate) fn aligned(lines: &[Vec<String>], words: usize) -> String {
    let count = lines.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..count).map(|at| column_width(lines, at)).collect();
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
