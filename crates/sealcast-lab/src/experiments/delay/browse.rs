//! The report page: one self-contained file.

use std::error::Error;
use std::fmt::Write;

use super::plan::{DelayResult, MEDIA};
use super::plot;
use super::record::METHOD;
use super::table::{self, Row};
use crate::page::{self, escape};

/// The page in HTML.
pub(super) fn page(result: &DelayResult, rows: &[Row], facts: &[(&str, String)]) -> Result<String, Box<dyn Error>> {
    let mut page = page::head(
        "Ciphers over UDP",
        "Delay of text, audio and video over UDP under ciphers",
    );
    page.push_str("<table>\n");
    for (name, value) in facts {
        writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(value))?;
    }
    page.push_str("</table>\n");
    for note in table::notes(result) {
        writeln!(page, "<p>{}</p>", escape(&note))?;
    }
    for medium in MEDIA {
        writeln!(page, "<figure>{}</figure>", plot::delays(result, medium, rows)?)?;
    }
    page.push_str("<table>\n");
    page.push_str(&page::row("th", table::COLUMNS));
    for row in rows {
        page.push_str(&page::row("td", row.cells()));
    }
    page.push_str("</table>\n<h2>Method</h2>\n");
    for words in METHOD {
        writeln!(page, "<p>{}</p>", escape(words))?;
    }
    page.push_str("</html>\n");
    Ok(page)
}
