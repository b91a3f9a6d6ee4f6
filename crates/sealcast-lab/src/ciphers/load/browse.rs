//! The report page: one self-contained file.

use std::error::Error;
use std::fmt::Write;

use super::record::LoadRecord;
use super::table::COLUMNS;
use crate::ciphers::plot::{Bar, bars};
use crate::page::{self, escape};

/// The page in HTML.
pub(super) fn page(record: &LoadRecord) -> Result<String, Box<dyn Error>> {
    let mut page = page::head("Ciphers under load", "How many frames a second ciphers hold");
    page.push_str("<table>\n");
    for (name, value) in record.facts() {
        writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(&value))?;
    }
    page.push_str("</table>\n");
    for wrong in &record.wrong {
        writeln!(page, "<p><b>Wrong, and not measured:</b> {}</p>", escape(wrong))?;
    }
    for same_filter in record.rows().chunk_by(|a, b| a.filter == b.filter) {
        let filter = same_filter[0].filter;
        let held = same_filter.iter().filter(|row| row.frames_per_s > 0.0);
        let drawn: Vec<Bar> = held
            .map(|row| {
                let rate = row.frames_per_s;
                let low = row.frames_per_s_low.unwrap_or(rate);
                let name = format!("{} {}", row.cipher, row.implementation);
                (name, rate, low, row.frames_per_s_high.unwrap_or(rate))
            })
            .collect();
        if !drawn.is_empty() {
            let svg = bars("frames a second held", &drawn)?;
            writeln!(page, "<h2>Image filter: {filter}</h2>\n<figure>{svg}</figure>")?;
        }
    }
    page.push_str("<table>\n");
    page.push_str(&page::row("th", COLUMNS));
    for row in record.rows() {
        page.push_str(&page::row("td", row.cells()));
    }
    page.push_str("</table>\n<h2>Method</h2>\n");
    for words in record.method() {
        writeln!(page, "<p>{}</p>", escape(words))?;
    }
    page.push_str("</html>\n");
    Ok(page)
}
