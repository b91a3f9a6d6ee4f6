//! Secrets that must not be shown or stored: invites in tickets, passwords in URLs.

use std::borrow::Cow;

/// Replacement text for a secret.
const HIDDEN: &str = "***";

/// The place of user and password in advice, which shows how they are written.
const PLACE: &str = "USER:PASSWORD";

/// Beginning of the URL of a GStreamer pipeline.
const PIPELINE: &str = "gst:";

/// Endings of the names of elements' properties that hold secrets: `user-pw`, `passphrase`, `srt-key`, `access-token`.
const SECRET_PROPERTIES: [&str; 8] = [
    "pw",
    "password",
    "passphrase",
    "passwd",
    "key",
    "secret",
    "token",
    "credentials",
];

/// Options of URLs that are secrets, unless they name a file by `@FILE`.
const SECRET_OPTIONS: [&str; 3] = ["jwt", "password", "token"];

/// `text` with the password of every URL, and everything after a URL's `#`, replaced. The result is safe for logs,
/// reports and screens.
pub fn redact(text: &str) -> Cow<'_, str> {
    match text.starts_with(PIPELINE) {
        true => Cow::Owned(redact_urls(&redact_properties(text)).into_owned()),
        false => redact_urls(text),
    }
}

/// The text of a GStreamer pipeline with the values of properties hidden whose names sound like secrets.
fn redact_properties(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let (name, value) = rest.split_at(at + 1);
        shown.push_str(name);
        let name = name.trim_end_matches('=').trim_end().to_lowercase();
        rest = value;
        if SECRET_PROPERTIES.iter().any(|secret| name.ends_with(secret)) {
            let value = value.trim_start();
            // A value in quotes ends with them, another one at white space.
            let end = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value[1..].find(quote).map(|end| end + 2),
                _ => value.find(char::is_whitespace),
            };
            shown.push_str(HIDDEN);
            rest = &value[end.unwrap_or(value.len())..];
        }
    }
    shown + rest
}

fn redact_urls(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(scheme_end) = rest.find("://") {
        let (scheme, after) = rest.split_at(scheme_end + 3);
        shown.push_str(scheme);
        // A URL ends at white space, a quote or an angle bracket, none of which it can contain.
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

/// True if `text` contains a secret that [`redact`] would hide.
pub fn has_secret(text: &str) -> bool {
    redact(text) != text
}

/// Write a URL without its scheme to `shown`, with its secrets hidden.
fn redact_url(url: &str, shown: &mut String) {
    let (url, fragment) = url.split_once('#').map_or((url, false), |(url, _)| (url, true));
    let (url, option) = file_option(url);
    let url = &*without_options(url);
    // In a malformed URL the password may contain a slash, so hide everything up to the last `@`; hiding too much is
    // better than too little.
    match url.rsplit_once('@') {
        Some((user, host)) => {
            if let Some((name, _)) = user.split_once(':').filter(|_| user != PLACE) {
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
    shown.push_str(option);
    if fragment {
        shown.push('#');
        shown.push_str(HIDDEN);
    }
}

/// A URL with the values hidden of options that are secrets themselves: `jwt=TOKEN`, `password=PASSWORD`.
fn without_options(url: &str) -> String {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let mut shown = place.to_owned();
    for (at, option) in query.split('&').enumerate().filter(|_| url.contains('?')) {
        shown.push(if at == 0 { '?' } else { '&' });
        match option.split_once('=') {
            Some((name, value)) if SECRET_OPTIONS.contains(&name) && !value.starts_with('@') => {
                shown.push_str(name);
                shown.push('=');
                shown.push_str(HIDDEN);
            }
            _ => shown.push_str(option),
        }
    }
    shown
}

/// Split a URL before the option `credentials=@FILE` or `token=@FILE`. Its `@` names a file, so the text before it is
/// not a password.
fn file_option(url: &str) -> (&str, &str) {
    let begins = ["credentials=@", "token=@", "password=@"];
    let is_option = |&at: &usize| at > 0 && matches!(url.as_bytes()[at - 1], b'?' | b'&');
    let at = begins.iter().find_map(|begin| url.rfind(begin).filter(is_option));
    let at = at.map(|at| at - 1);
    match at.filter(|&at| url[at..].matches('@').count() == 1) {
        Some(at) => url.split_at(at),
        None => (url, ""),
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
                "rtsp://admin:secret@cam:554/a?credentials=@file",
                "rtsp://admin:***@cam:554/a?credentials=@file",
            ),
            ("rtsp://a:b?credentials=@c@cam/a", "rtsp://a:***@cam/a"),
            (
                "sealcast://[::1]:4470/abc?transport=tcp#invite",
                "sealcast://[::1]:4470/abc?transport=tcp#***",
            ),
            (
                "gst:\"rtspsrc location=rtsp://u:p@h/x ! fakesink\"",
                "gst:\"rtspsrc location=rtsp://u:***@h/x ! fakesink\"",
            ),
            (
                "gst:rtspsrc location=rtsp://h/x user-pw=\"my cat\" user-id=u ! srtsink passphrase=abc uri=srt://h",
                "gst:rtspsrc location=rtsp://h/x user-pw=*** user-id=u ! srtsink passphrase=*** uri=srt://h",
            ),
            ("gst:a user-pw = 'x", "gst:a user-pw =***"),
            (
                "https://relay:443/front?jwt=abc&x=y",
                "https://relay:443/front?jwt=***&x=y",
            ),
            (
                "rtsp://127.0.0.1/a?user=b&password=c&open",
                "rtsp://127.0.0.1/a?user=b&password=***&open",
            ),
            ("http://127.0.0.1:9880?token=abc", "http://127.0.0.1:9880?token=***"),
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
            "file:a?key=b",
            "write rtsp://USER:PASSWORD@HOST:PORT/PATH, with %23 for #",
            "gst:videotestsrc pattern=snow ! x264enc key-int-max=60",
            "rtsp://cam/stream",
            "rtsp://user@cam/",
            "rtsp://cam:554/stream?transport=tcp&credentials=@/etc/cam.secret",
            "tcp://[::1]:4470",
            "http://127.0.0.1:9880?public&token=@/etc/page.token",
            "rtsp://0.0.0.0:8554/front?user=vlc&password=@/etc/players",
            "-",
        ] {
            assert_eq!(redact(text), text);
            assert!(!has_secret(text));
        }
    }
}
