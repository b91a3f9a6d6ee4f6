//! The page: one file that needs nothing else.

use std::fmt::Write;

use super::plan::{LinkOptions, LinkResult};
use super::record::METHOD;
use super::{plot, table};
use crate::page::{self, escape};

/// The page in HTML.
pub(super) fn page(
    options: &LinkOptions,
    result: &LinkResult,
    facts: &[(&str, String)],
) -> Result<String, Box<dyn std::error::Error>> {
    let mut page = page::head("Frames in time", "What share of frames is in time");
    page.push_str("<table>\n");
    for (name, value) in facts {
        writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(value))?;
    }
    page.push_str("</table>\n<h2>Figures</h2>\n<ul>\n");
    for verdict in table::verdicts(result) {
        writeln!(page, "<li>{}</li>", escape(&verdict))?;
    }
    page.push_str("</ul>\n<table>\n");
    page.push_str(&page::row("th", table::COLUMNS));
    for figures in &result.figures {
        page.push_str(&page::row("td", table::cells(figures)));
    }
    page.push_str("</table>\n<h2>Shown in time</h2>\n");
    writeln!(page, "<figure>{}</figure>", plot::bars(result)?)?;
    page.push_str(
        "<h2>Delay</h2>\n<p>The share of frames that cannot be shown yet, by the time since they were sent. The \
        line is the deadline; a curve that ends above the axis has lost frames.</p>\n",
    );
    for &point in &options.points {
        writeln!(page, "<figure>{}</figure>", plot::delays(result, point)?)?;
    }
    page.push_str("<h2>Method</h2>\n");
    for words in METHOD {
        writeln!(page, "<p>{}</p>", escape(words))?;
    }
    page.push_str("</html>\n");
    Ok(page)
}
