//! The report: one file that needs nothing else.

use std::error::Error;
use std::fmt::Write;

use super::figures::Figures;
use super::plan::GatewayResult;
use super::record::METHOD;
use super::{plot, table};
use crate::ciphers::plot::{Bar, bars};
use crate::page::{self, escape};

/// The page in HTML.
pub(super) fn page(result: &GatewayResult, facts: &[(&str, String)]) -> Result<String, Box<dyn Error>> {
    let mut page = page::head("The price of a gateway pair", "What a pair of RTSP gateways costs");
    page.push_str("<table>\n");
    for (name, value) in facts {
        writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(value))?;
    }
    page.push_str("</table>\n<h2>Figures</h2>\n<ul>\n");
    for note in table::notes(result) {
        writeln!(page, "<li>{}</li>", escape(&note))?;
    }
    page.push_str("</ul>\n<table>\n");
    page.push_str(&page::row("th", table::COLUMNS));
    for row in table::rows(result) {
        page.push_str(&page::row("td", row.cells()));
    }
    page.push_str("</table>\n<h2>Delay</h2>\n");
    let same_load = |a: &Figures, b: &Figures| a.load.name == b.load.name;
    for figures in result.figures.chunk_by(same_load) {
        let figures: Vec<&Figures> = figures.iter().collect();
        writeln!(page, "<figure>{}</figure>", plot::delays(&figures)?)?;
    }
    page.push_str("<h2>Processor time</h2>\n");
    let bar = |figures: &Figures| -> Bar {
        let cpu = figures.middle(|sample| sample.cpu_us);
        (
            format!("{} {}", figures.load.name, figures.system),
            cpu.median,
            cpu.low,
            cpu.high,
        )
    };
    let all: Vec<Bar> = result.figures.iter().map(bar).collect();
    if !all.is_empty() {
        writeln!(
            page,
            "<figure>{}</figure>",
            bars("µs of processor time a packet", &all)?
        )?;
    }
    page.push_str("<h2>Method</h2>\n");
    for words in METHOD {
        writeln!(page, "<p>{}</p>", escape(words))?;
    }
    page.push_str("</html>\n");
    Ok(page)
}
