//! The command lines of other programs, as a definition writes them.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use sealcast::failure::{Failure, FailureKind, Result};

use super::pictures::Pictures;

/// Parts of command lines by name, which a line has as `{name}`.
pub(super) type Parts = BTreeMap<String, String>;

/// Words of a command line with names in braces replaced: first those of parts, which may have names of values, then
/// those of values.
///
/// # Errors
/// A name is neither a part nor a value.
pub(super) fn words(line: &str, parts: &Parts, values: &Parts) -> Result<Vec<String>> {
    let whole = replaced(line, |name| {
        let as_it_was = || values.contains_key(name).then(|| format!("{{{name}}}"));
        parts.get(name).cloned().or_else(as_it_was)
    });
    let whole = whole.and_then(|line| replaced(&line, |name| values.get(name).cloned()));
    let words = whole.map(|line| line.split_whitespace().map(str::to_owned).collect());
    words.map_err(|name| {
        let what = format!("`{{{name}}}` in a command line is neither a part nor a value");
        let known: Vec<&str> = parts.keys().chain(values.keys()).map(String::as_str).collect();
        Failure::new(FailureKind::Usage, what, format!("choose among {}", known.join(", ")))
    })
}

/// The line with each `{name}` replaced; the first name without a replacement otherwise.
fn replaced(line: &str, of: impl Fn(&str) -> Option<String>) -> std::result::Result<String, String> {
    let mut whole = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, after) = behind.split_once('}').ok_or_else(|| behind.to_owned())?;
        whole.push_str(before);
        whole.push_str(&of(name).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    Ok(whole + rest)
}

/// Values of a case, and of a turn, that a command line can name.
pub(super) fn values(pictures: &Pictures, port: u16) -> Parts {
    let named = [
        ("width", pictures.width.to_string()),
        ("height", pictures.height.to_string()),
        ("rate", pictures.rate.to_string()),
        ("bitrate", pictures.bitrate.to_string()),
        ("gop", pictures.gop.to_string()),
        ("bytes", pictures.bytes().to_string()),
        ("port", port.to_string()),
    ];
    named.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The command of words, the first of which is the program.
///
/// # Errors
/// There is no word.
pub(super) fn command(words: &[String]) -> Result<Command> {
    let Some((program, arguments)) = words.split_first() else {
        let what = "a command line is empty";
        return Err(Failure::new(FailureKind::Usage, what, "name a program"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// The first of these command lines that does not succeed.
pub(super) fn first_that_fails(lines: &[String]) -> Option<&String> {
    let succeeds = |line: &&String| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        command(&words).is_ok_and(|mut command| {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        })
    };
    lines.iter().find(|line| !succeeds(line))
}

/// The first line that a command prints.
pub(super) fn first_line(line: &str) -> Option<String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let output = command(&words).ok()?.stdin(Stdio::null()).output().ok()?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(all: &[(&str, &str)]) -> Parts {
        all.iter()
            .map(|(name, text)| (name.to_string(), text.to_string()))
            .collect()
    }

    #[test]
    fn parts_and_values_take_the_places_of_their_names() {
        let parts = parts(&[("encoder", "encode rate={rate} ! pay")]);
        let pictures = Pictures {
            width: 640,
            height: 480,
            rate: 30,
            bitrate: 1_500_000,
            gop: 60,
        };
        let values = values(&pictures, 5004);
        let words = |line: &str| words(line, &parts, &values);
        assert_eq!(
            words("gst  {encoder} ! sink port={port} size={bytes}").expect("known names"),
            [
                "gst",
                "encode",
                "rate=30",
                "!",
                "pay",
                "!",
                "sink",
                "port=5004",
                "size=460800"
            ]
        );
        for wrong in ["gst {decoder}", "gst {rate"] {
            let failure = words(wrong).expect_err("an unknown name").to_string();
            assert!(failure.contains("encoder") && failure.contains("bitrate"), "{failure}");
        }
    }

    #[test]
    fn what_cannot_be_run_or_fails_is_named() {
        let lines = ["true", "sh --no-such-option", "no-such-program --version"].map(str::to_owned);
        assert_eq!(first_that_fails(&lines[..1]), None);
        assert_eq!(first_that_fails(&lines), Some(&lines[1]));
        assert_eq!(first_that_fails(&lines[2..]), Some(&lines[2]));
        assert_eq!(first_line("echo 1.22 of it"), Some("1.22 of it".to_owned()));
    }
}
