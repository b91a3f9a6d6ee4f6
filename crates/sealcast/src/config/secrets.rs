//! What must not be shown or stored: invites in tickets, passwords in URLs.

use std::borrow::Cow;

/// Stands where a secret was.
const HIDDEN: &str = "***";

/// `text` with the password of every URL in it and everything after a `#` of one hidden. Fit for logs, reports and screens.
pub fn redact(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(scheme_end) = rest.find("://") {
        let (scheme, after) = rest.split_at(scheme_end + 3);
        shown.push_str(scheme);
        // The URL ends where no URL can go on; quotes and commas surround it in lists and pipelines.
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>'))
            .unwrap_or(after.len());
        let (url, next) = after.split_at(end);
        redact_url(url, &mut shown);
        rest = next;
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Whether `text` carries a secret that [`redact`] would hide.
pub fn has_secret(text: &str) -> bool {
    redact(text) != text
}

/// Writes a URL without its scheme.
fn redact_url(url: &str, shown: &mut String) {
    let (url, fragment) = url.split_once('#').map_or((url, false), |(url, _)| (url, true));
    // A password may hold a slash where the URL is not well formed: hide up to the last `@`, rather too much than too little.
    match url.rsplit_once('@') {
        Some((user, host)) => {
            if let Some((name, _)) = user.split_once(':') {
                shown.push_str(name);
                shown.push(':');
                shown.push_str(HIDDEN);
            } else {
                shown.push_str(user);
            }
            shown.push('@');
            shown.push_str(host);
        }
        None => shown.push_str(url),
    }
    if fragment {
        shown.push('#');
        shown.push_str(HIDDEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_invites_are_hidden() {
        for (text, shown) in [
            ("rtsp://admin:secret@cam:554/a?b=c", "rtsp://admin:***@cam:554/a?b=c"),
            ("rtsp://admin:se/cr@et@cam/a", "rtsp://admin:***@cam/a"),
            (
                "sealcast://[::1]:4470/abc?transport=tcp#invite",
                "sealcast://[::1]:4470/abc?transport=tcp#***",
            ),
            (
                "gst:\"rtspsrc location=rtsp://u:p@h/x ! fakesink\"",
                "gst:\"rtspsrc location=rtsp://u:***@h/x ! fakesink\"",
            ),
            ("rtsp://a:1@b/c rtsp://d:2@e/f", "rtsp://a:***@b/c rtsp://d:***@e/f"),
        ] {
            assert_eq!(redact(text), shown);
            assert!(has_secret(text));
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "test:640x480@30",
            "file:a#b:c@d.mp4",
            "rtsp://cam/stream",
            "rtsp://user@cam/",
            "tcp://[::1]:4470",
            "-",
        ] {
            assert_eq!(redact(text), text);
            assert!(!has_secret(text));
        }
    }
}
