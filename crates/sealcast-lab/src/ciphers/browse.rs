//! The report: one file that needs nothing else.

use std::error::Error;
use std::fmt::Write;

use super::plot::{self, Bar};
use super::record::Record;
use super::table::{self, Row, SHOWN};
use crate::page::{self, escape};

/// What is drawn: workload, unit, and the figure with the ends of its interval.
type Chart = (&'static str, &'static str, fn(&Row) -> Option<[f64; 3]>);

const CHARTS: [Chart; 3] = [
    (SHOWN, "enciphering, MB/s", |row| {
        Some([row.mb_per_s, row.mb_per_s_low, row.mb_per_s_high])
    }),
    (SHOWN, "cycles per byte", |row| {
        Some([
            row.cycles_per_byte?,
            row.cycles_per_byte_low?,
            row.cycles_per_byte_high?,
        ])
    }),
    ("H.264 frames", "frames enciphered in a second", |row| {
        let per_mb = row.packets_per_s / row.mb_per_s;
        Some([row.packets_per_s, row.mb_per_s_low * per_mb, row.mb_per_s_high * per_mb])
    }),
];

/// The page in HTML.
pub(super) fn page(record: &Record, rows: &[Row]) -> Result<String, Box<dyn Error>> {
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
    for (workload, unit, figure) in CHARTS {
        let drawn = rows.iter().filter(|row| row.workload == workload).filter_map(|row| {
            let [value, low, high] = figure(row)?;
            Some((format!("{} {}", row.cipher, row.implementation), value, low, high))
        });
        let bars: Vec<Bar> = drawn.collect();
        if !bars.is_empty() {
            let svg = plot::bars(unit, &bars)?;
            writeln!(page, "<h2>{unit}: {workload}</h2>\n<figure>{svg}</figure>")?;
        }
    }
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
    page.push_str("</table>\n<h2>Method</h2>\n");
    for words in &record.method {
        writeln!(page, "<p>{}</p>", escape(words))?;
    }
    page.push_str("</html>\n");
    Ok(page)
}
