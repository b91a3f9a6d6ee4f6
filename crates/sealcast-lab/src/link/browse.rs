//! The page: one file that needs nothing else.

use std::fmt::Write;

use super::plan::{LinkOptions, LinkResult};
use super::record::METHOD;
use super::{plot, table};

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:76em;margin:2em auto;padding:0 1em;color:#222}\
    table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #ddd;padding:.2em .8em;text-align:left}\
    svg{max-width:100%;height:auto}figure{display:inline-block;margin:.5em}";

/// The page in HTML.
pub(super) fn page(
    options: &LinkOptions,
    result: &LinkResult,
    facts: &[(&str, String)],
) -> Result<String, Box<dyn std::error::Error>> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<title>Frames in time</title>\n\
         <style>{STYLE}</style>\n<h1>What share of frames is in time</h1>\n<table>\n"
    );
    for (name, value) in facts {
        writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(value))?;
    }
    page.push_str("</table>\n<h2>Figures</h2>\n<ul>\n");
    for verdict in table::verdicts(result) {
        writeln!(page, "<li>{}</li>", escape(&verdict))?;
    }
    page.push_str("</ul>\n<table>\n<tr>");
    for name in table::COLUMNS {
        write!(page, "<th>{name}</th>")?;
    }
    page.push_str("</tr>\n");
    for figures in &result.figures {
        let cells = table::cells(figures).map(|cell| format!("<td>{}</td>", escape(&cell)));
        writeln!(page, "<tr>{}</tr>", cells.concat())?;
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
