//! Guesses at what was meant by a source, a sink or a ticket that was typed plainly, as hints for error messages.

use std::net::IpAddr;
use std::path::Path;

use crate::config::option::nearest;
use crate::config::secrets::redact;

/// Endings of files that hold video.
const VIDEO: [&str; 20] = [
    "mp4", "m4v", "mov", "h264", "264", "h265", "265", "hevc", "obu", "av1", "ivf", "mjpeg", "mjpg", "avi", "y4m",
    "mkv", "webm", "ts", "flv", "mpg",
];
/// Endings of files that hold a ticket.
const TICKETS: [&str; 3] = ["txt", "ticket", "key"];

/// The schemes of sources and of sinks, those that are followed by `//` among them.
const SOURCES: [&str; 7] = ["test", "file", "v4l2", "rtsp", "rtsps", "udp", "gst"];
const SINKS: [&str; 7] = ["null", "file", "archive", "window", "gst", "http", "rtsp"];

/// Suggests what to do instead of naming the source `typed`, if that can be guessed. Secrets in it are not repeated.
pub(crate) fn source(typed: &str) -> Option<String> {
    let plain = before_options(typed);
    if typed.starts_with("sealcast://") || typed.starts_with('@') {
        return Some("that is a ticket, which is watched: sealcast watch TICKET".to_owned());
    }
    if typed.starts_with("http://") || typed.starts_with("https://") {
        return Some("a camera is read by RTSP: look up its rtsp:// address in its manual".to_owned());
    }
    if plain.starts_with("/dev/") {
        return Some(did_you_mean(&format!("v4l2:{typed}")));
    }
    let host = plain.split(['/', ':']).next().unwrap_or_default();
    if host.parse::<IpAddr>().is_ok() {
        return Some(did_you_mean(&format!("rtsp://{typed}")));
    }
    file(typed).or_else(|| scheme(typed, &SOURCES))
}

/// As [`source`], of a sink.
pub(crate) fn sink(typed: &str) -> Option<String> {
    if typed.starts_with("https://") {
        return Some("a picture is shown on this machine: write http://127.0.0.1:9880".to_owned());
    }
    file(typed).or_else(|| scheme(typed, &SINKS))
}

/// As [`source`], of a ticket.
pub(crate) fn ticket(typed: &str) -> Option<String> {
    if typed.starts_with("rtsp") {
        return Some("that is a camera: `sealcast publish` reads it, and prints the ticket for viewers".to_owned());
    }
    if typed.starts_with("http") && typed.contains("?token=") {
        let page = "that is the address of a page of this machine: open it in a browser";
        return Some(format!(
            "{page}; to watch somewhere else, ask there for a ticket: sealcast invite"
        ));
    }
    if typed.starts_with("http") {
        return Some("copy the whole link: the ticket stands behind its #".to_owned());
    }
    let path = Path::new(typed);
    let is_file = || path.is_file() && typed.len() < 256;
    (has_ending(path, &TICKETS) || is_file()).then(|| did_you_mean(&format!("@{typed}")))
}

/// A file that was typed without its scheme.
fn file(typed: &str) -> Option<String> {
    let path = Path::new(before_options(typed));
    let meant = !typed.contains(':') && (has_ending(path, &VIDEO) || path.is_file());
    meant.then(|| did_you_mean(&format!("file:{typed}")))
}

/// A scheme that was misspelt, or typed without its colon.
fn scheme(typed: &str, valid: &[&str]) -> Option<String> {
    let (scheme, rest) = typed.split_once(':').unwrap_or((typed, ""));
    let scheme = scheme.split('?').next().unwrap_or_default();
    let near = nearest(scheme, valid.iter().copied())?;
    let meant = match near {
        "rtsp" | "rtsps" | "udp" | "http" => format!("{near}://{}", rest.trim_start_matches('/')),
        _ => format!("{near}:{rest}"),
    };
    Some(did_you_mean(&meant))
}

fn did_you_mean(meant: &str) -> String {
    format!("did you mean {}?", redact(meant))
}

fn before_options(typed: &str) -> &str {
    typed.split('?').next().unwrap_or_default()
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_plainly_is_named_as_it_is_written() {
        let there = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for (guess, typed, meant) in [
            (source as fn(&str) -> Option<String>, "clip.mp4", "file:clip.mp4?"),
            (source, "clip.MP4?loop", "file:clip.MP4?loop?"),
            (source, there, &format!("file:{there}?")),
            (source, "/dev/video0", "v4l2:/dev/video0?"),
            (source, "/dev/video0?fps=5", "v4l2:/dev/video0?fps=5?"),
            (source, "192.0.2.1/live", "rtsp://192.0.2.1/live?"),
            (source, "192.0.2.1:554", "rtsp://192.0.2.1:554?"),
            (source, "test", "test:?"),
            (source, "rstp://u:hunter2@cam/1", "rtsp://u:***@cam/1?"),
            (source, "v412:/dev/video1", "v4l2:/dev/video1?"),
            (sink, "out.mp4", "file:out.mp4?"),
            (sink, "window", "window:?"),
            (sink, "winodw:?latency", "window:?latency?"),
            (sink, "null", "null:?"),
            (ticket, "ticket.txt", "@ticket.txt?"),
            (ticket, there, &format!("@{there}?")),
        ] {
            assert_eq!(guess(typed), Some(format!("did you mean {meant}")), "{typed}");
        }
    }

    #[test]
    fn what_is_something_else_is_called_that() {
        for (guess, typed, words) in [
            (
                source as fn(&str) -> Option<String>,
                "sealcast://h:1/abc#hunter2",
                "sealcast watch",
            ),
            (source, "@ticket", "sealcast watch"),
            (source, "http://camera/video", "rtsp://"),
            (sink, "https://0.0.0.0:9880", "http://127.0.0.1"),
            (ticket, "rtsp://u:hunter2@camera/1", "sealcast publish"),
            (ticket, "https://camera:9443/", "behind its #"),
            (ticket, "http://127.0.0.1:9880/?token=hunter2", "open it in a browser"),
        ] {
            let hint = guess(typed).expect(typed);
            assert!(hint.contains(words) && !hint.contains("hunter2"), "{hint}");
        }
    }

    #[test]
    fn what_cannot_be_guessed_is_not() {
        for (guess, typed) in [
            (source as fn(&str) -> Option<String>, "ftp:x"),
            (source, ""),
            (sink, "screen:"),
            (sink, ""),
            (ticket, "hello"),
            (ticket, ""),
        ] {
            assert_eq!(guess(typed), None, "{typed}");
        }
    }
}
