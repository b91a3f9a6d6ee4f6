//! The report page: one self-contained file.

use std::error::Error;
use std::fmt::Write;

use super::method::MISLEADING;
use super::record::Record;
use super::summary::Line;
use super::table::{self, Row};
use super::{figures, hardware};
use crate::page::{self, escape};

/// The page in HTML.
pub(super) fn page(record: &Record, rows: &[Row], lines: &[Line]) -> Result<String, Box<dyn Error>> {
    let mut page = page::head("Ciphers on video", "What ciphers cost on packets and frames of video");
    page.push_str("<table>\n");
    for (name, value) in record.facts() {
        writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(&value))?;
    }
    page.push_str("</table>\n");
    for wrong in table::wrong(record) {
        writeln!(page, "<p><b>Wrong, and not timed:</b> {}</p>", escape(&wrong))?;
    }
    for note in table::notes(record) {
        writeln!(page, "<p>{}</p>", escape(&note))?;
    }
    page.push_str(&figures::khan_2024(record, lines));
    page.push_str(&figures::charts(record, lines)?);
    page.push_str(&figures::elkilani_2009(record, lines)?);
    page.push_str(&figures::times(lines));
    page.push_str(&hardware::part(record, rows));
    for load in &record.settings().workloads {
        let mean = table::short(load.mean_bytes());
        writeln!(
            page,
            "<h2>{}</h2>\n<p>{mean} bytes on average.</p>\n<table>",
            escape(&load.name)
        )?;
        page.push_str(&page::row("th", table::COLUMNS));
        for row in rows.iter().filter(|row| row.workload == load.name) {
            page.push_str(&page::row("td", table::cells(row)));
        }
        page.push_str("</table>\n");
    }
    page.push_str("<h2>Keys, IVs, tags, state</h2>\n<table>\n");
    page.push_str(&page::row(
        "th",
        [
            "cipher",
            "implementation",
            "key, bits",
            "IV, bits",
            "tag, bits",
            "state, bytes",
        ],
    ));
    for one in &record.contenders {
        let state = one
            .state_bytes
            .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        let [key, iv, tag] = [one.key_bits, one.iv_bits, one.tag_bits].map(|bits| bits.to_string());
        page.push_str(&page::row(
            "td",
            [&one.cipher, &one.implementation, &key, &iv, &tag, &state],
        ));
    }
    page.push_str("</table>\n");
    let method: Vec<&str> = record.method.iter().map(String::as_str).collect();
    for (heading, all) in [("Where these figures mislead", &MISLEADING[..]), ("Method", &method)] {
        writeln!(page, "<h2>{heading}</h2>")?;
        for words in all {
            writeln!(page, "<p>{}</p>", escape(words))?;
        }
    }
    page.push_str("</html>\n");
    Ok(page)
}
