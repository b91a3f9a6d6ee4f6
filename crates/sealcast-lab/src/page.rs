//! Common parts of HTML reports: one self-contained file.

/// Charts are drawn for a white background; in dark mode they are inverted, with their hues kept.
const STYLE: &str = ":root{color-scheme:light dark}\
    body{font:15px/1.45 sans-serif;max-width:76em;margin:2em auto;padding:0 1em;color:light-dark(#222,#ddd);\
    background:light-dark(#fff,#191919)}table{border-collapse:collapse;margin:1em 0;display:block;overflow-x:auto}\
    td,th{border-bottom:1px solid light-dark(#ddd,#444);padding:.2em .8em;text-align:left}\
    svg{max-width:100%;height:auto}figure{display:inline-block;margin:.5em}\
    @media(prefers-color-scheme:dark){svg{filter:invert(.9) hue-rotate(180deg)}}";

/// The beginning of a page.
pub(crate) fn head(title: &str, heading: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n<h1>{}</h1>\n",
        escape(title),
        escape(heading)
    )
}

/// One row of a table.
pub(crate) fn row(tag: &str, cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cells = cells
        .into_iter()
        .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell.as_ref())));
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// Escapes text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
