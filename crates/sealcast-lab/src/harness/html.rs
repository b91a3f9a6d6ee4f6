//! Parts of pages in HTML.

/// Escapes text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Escapes prose for HTML; what stands between backticks is code.
pub(crate) fn prose(text: &str) -> String {
    let parts = escape(text);
    let parts = parts.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.to_owned(),
        _ => format!("<code>{part}</code>"),
    });
    parts.collect()
}

/// The begin of a table that scrolls in a box of its own where the page is narrower.
pub(crate) fn open_table(class: &str) -> String {
    format!("<div class=\"wide\" tabindex=\"0\"><table class=\"{class}\">\n")
}

/// The end of a table that [`open_table`] began.
pub(crate) const CLOSE_TABLE: &str = "</table></div>\n";

/// The place of a system in a case on its experiment's page.
pub(crate) fn anchor(case: &str, system: &str) -> String {
    let plain = |name: &str| -> String {
        let letters = name
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
        letters.collect()
    };
    format!("{}--{}", plain(case), plain(system))
}
