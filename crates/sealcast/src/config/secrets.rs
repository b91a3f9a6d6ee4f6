//! Secrets that must not be shown or stored: invites in tickets, passwords in URLs.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::failure::{Failure, FailureKind, Result};

/// Replacement text for a secret.
const HIDDEN: &str = "***";

/// Maximum size in bytes of a file that contains a secret.
const MAX_SECRET_FILE: u64 = 4096;

/// Read the first line of the file at `path`, such as a ticket with an invite or a source with a password. Logs a
/// warning if other users may read the file.
///
/// # Errors
/// Kind `Keys` if the file cannot be read, is longer than 4096 bytes, or has an empty first line.
pub fn read_secret(path: &Path) -> Result<String> {
    let read = || -> io::Result<String> {
        let file = File::open(path)?;
        warn_if_public(&file, path);
        let mut text = String::new();
        if file.take(MAX_SECRET_FILE + 1).read_to_string(&mut text)? as u64 > MAX_SECRET_FILE {
            return Err(io::Error::other("it is too long"));
        }
        let line = text.lines().next().unwrap_or_default().trim();
        if line.is_empty() {
            Err(io::Error::other("its first line is empty"))
        } else {
            Ok(line.to_owned())
        }
    };
    read().map_err(|error| {
        let what = format!("the secret in {} cannot be read: {error}", path.display());
        Failure::new(
            FailureKind::Keys,
            what,
            "check the path, who may read the file, and its first line",
        )
    })
}

#[cfg(unix)]
fn warn_if_public(file: &File, path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if file
        .metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o077 != 0)
    {
        let path = path.display();
        tracing::warn!("other users can read the secret in {path}: chmod 600 it");
    }
}

#[cfg(not(unix))]
fn warn_if_public(_file: &File, _path: &Path) {}

/// `text` with the password of every URL, and everything after a URL's `#`, replaced. The result is safe for logs,
/// reports and screens.
pub fn redact(text: &str) -> Cow<'_, str> {
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
    let (url, option) = credentials_option(url);
    // In a malformed URL the password may contain a slash, so hide everything up to the last `@`; hiding too much is
    // better than too little.
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
    shown.push_str(option);
    if fragment {
        shown.push('#');
        shown.push_str(HIDDEN);
    }
}

/// Split a URL before the option `credentials=@FILE`. Its `@` names a file, so the text before it is not a password.
fn credentials_option(url: &str) -> (&str, &str) {
    let begins = ["?credentials=@", "&credentials=@"];
    let at = begins.iter().find_map(|begin| url.rfind(begin));
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
            ("rtsp://a:1@b/c rtsp://d:2@e/f", "rtsp://a:***@b/c rtsp://d:***@e/f"),
        ] {
            assert_eq!(redact(text), shown);
            assert!(has_secret(text));
        }
    }

    #[test]
    fn a_secret_is_the_first_line_of_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "  sealcast://h:1/abc#hush \nsecond\n").unwrap();
        assert_eq!(read_secret(file.path()).unwrap(), "sealcast://h:1/abc#hush");
        for content in ["\nhush\n".to_owned(), "hush".repeat(2000)] {
            std::fs::write(file.path(), content).unwrap();
            let failure = read_secret(file.path()).unwrap_err();
            assert!(
                failure.kind == FailureKind::Keys && !failure.to_string().contains("hush"),
                "{failure}"
            );
        }
        assert!(
            read_secret(Path::new("/nonexistent"))
                .unwrap_err()
                .what
                .contains("/nonexistent")
        );
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "test:640x480@30",
            "file:a#b:c@d.mp4",
            "rtsp://cam/stream",
            "rtsp://user@cam/",
            "rtsp://cam:554/stream?transport=tcp&credentials=@/etc/cam.secret",
            "tcp://[::1]:4470",
            "-",
        ] {
            assert_eq!(redact(text), text);
            assert!(!has_secret(text));
        }
    }
}
