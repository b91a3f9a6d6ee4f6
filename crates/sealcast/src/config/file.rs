//! The configuration file: its values with their positions, and the messages for errors in it.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use toml::de::DeTable;
use toml::{Table, Value};

use super::camera;
use super::option::{Kind, Opt, in_words, nearest};
use super::options::{Config, OPTIONS};
use super::secrets::{has_secret, redact};
use crate::failure::{Failure, FailureKind, Result};

/// Maximum size of a configuration file in bytes; a longer file is surely something else.
const MAX_FILE: u64 = 1024 * 1024;

/// A value in a file.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) opt: &'static Opt,
    pub(super) value: Value,
    /// File, line and column of its key.
    pub(super) place: String,
    /// Those of each table, if it is a list of them.
    pub(super) tables: Vec<String>,
}

/// Read the configuration file at `path`.
///
/// # Errors
/// Kind `Config`, with line, column and the nearest valid key, if the file cannot be read, contains an error or holds
/// a secret.
pub(super) fn load(path: &Path) -> Result<Vec<Entry>> {
    parse(&read(path)?, path)
}

fn read(path: &Path) -> Result<String> {
    let refuse = |error: &dyn std::fmt::Display, hint: &str| {
        let what = format!("the configuration {} cannot be read: {error}", path.display());
        Failure::new(FailureKind::Config, what, hint)
    };
    let mut text = String::new();
    let length = File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text))
        .map_err(|error| refuse(&error, "check the path and who may read it"))?;
    if length as u64 > MAX_FILE {
        return Err(refuse(&"it is longer than 1 MiB", "name a configuration file"));
    }
    Ok(text)
}

/// Parse `text`, which was read from `path`.
pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<Entry>> {
    // `Config` rejects unknown keys and wrong types with their positions; toml's own tables would not.
    let refused = |error: toml::de::Error| {
        let message = error.message().lines().next().unwrap_or_default();
        wrong(
            &place(text, path, error.span()),
            &redact(&in_words(message)),
            &hint(message),
        )
    };
    let config: Config = toml::from_str(text).map_err(refused)?;
    let values: Table = text.parse().map_err(refused)?;
    let spans = DeTable::parse(text).map_err(refused)?;
    let entry = |opt: &'static Opt| {
        let (section, held) = match opt.kind {
            Kind::Tables => (spans.get_ref(), &values),
            _ => (
                spans.get_ref().get(opt.section)?.get_ref().as_table()?,
                values.get(opt.section)?.as_table()?,
            ),
        };
        let key = section.keys().find(|key| key.get_ref().as_ref() == opt.key)?;
        let value = held.get(opt.key)?.clone();
        let tables = match (opt.kind, section.get(opt.key)?.get_ref().as_array()) {
            (Kind::Tables, Some(tables)) => tables
                .iter()
                .map(|table| place(text, path, Some(table.span())))
                .collect(),
            _ => Vec::new(),
        };
        let place = place(text, path, Some(key.span()));
        Some(Entry {
            opt,
            value,
            place,
            tables,
        })
    };
    let entries: Vec<Entry> = OPTIONS.iter().filter_map(entry).collect();
    check(&entries)?;
    camera::check(&config.camera).map_err(|problem| {
        let span = camera_span(spans.get_ref(), problem.at, problem.key);
        wrong(&place(text, path, span), problem.what, problem.hint)
    })?;
    Ok(entries)
}

/// Check the conditions that the types cannot express: keys that exclude each other, and secrets that belong in
/// separate files.
fn check(entries: &[Entry]) -> Result<()> {
    for Entry { opt, value, place, .. } in entries {
        if let Some(other) = entries.iter().find(|other| opt.rules_out(other.opt)) {
            let what = format!("{} and {} exclude each other", other.opt.path, opt.path);
            return Err(wrong(place, &what, "keep one of them"));
        }
        if let Some(secret) = opt.secret.filter(|_| value.as_str().is_some_and(has_secret)) {
            let what = format!(
                "{} carries {secret}, which must not be in a configuration file",
                opt.path
            );
            let in_file = format!("{}_file", opt.key);
            let hint = match OPTIONS
                .iter()
                .any(|other| other.section == opt.section && other.key == in_file)
            {
                true => format!("write it into a file that only you can read, and name that file in {in_file}"),
                false => format!("use a {} without it", opt.key),
            };
            return Err(wrong(place, &what, &hint));
        }
    }
    Ok(())
}

fn wrong(place: &str, what: &str, hint: &str) -> Failure {
    Failure::new(FailureKind::Config, format!("{place}: {what}"), hint)
}

/// The file name with line and column of `span`. The line itself is not shown because it may contain a secret.
fn place(text: &str, path: &Path, span: Option<Range<usize>>) -> String {
    let Some(span) = span else {
        return path.display().to_string();
    };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{}, line {line}, column {column}", path.display())
}

/// The hint for an error message of the parser.
fn hint(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.contains("quoted") {
        return "write a text in quotes: source = \"rtsp://192.0.2.10/1\"".to_owned();
    }
    if !message.starts_with("unknown ") {
        return "`sealcast config example` shows every option with a valid value".to_owned();
    }
    let Some(unknown) = quoted.next() else {
        return "`sealcast config example` shows every option".to_owned();
    };
    let valid: Vec<&str> = quoted.collect();
    if let Some(elsewhere) = OPTIONS.iter().find(|opt| opt.key == unknown) {
        return format!("`{unknown}` belongs into the section [{}]", elsewhere.section);
    }
    if let Some(near) = nearest(unknown, valid.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if let Some(near) = nearest(unknown, OPTIONS.iter().map(|opt| opt.key)) {
        return format!("did you mean `{near}`, which is in another section?");
    }
    format!("valid here are {}", valid.join(", "))
}

/// The position of a camera's key, or of the whole camera if it lacks that key.
fn camera_span(table: &DeTable<'_>, at: usize, key: &str) -> Option<Range<usize>> {
    let camera = table.get("camera")?.get_ref().get(at)?;
    let mut keys = camera.get_ref().as_table()?.keys();
    let key = keys.find(|name| name.get_ref().as_ref() == key);
    Some(key.map_or_else(|| camera.span(), |key| key.span()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> Failure {
        let failure = parse(text, Path::new("sealcast.toml")).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Config);
        failure
    }

    #[test]
    fn an_unknown_key_is_placed_and_the_nearest_one_named() {
        let failure = failure("[publish]\nopen = false\n  lisen = \"tcp://[::]:4470\"\n");
        assert!(
            failure
                .what
                .starts_with("sealcast.toml, line 3, column 3: unknown field `lisen`"),
            "{failure}"
        );
        assert_eq!(failure.hint, "did you mean `listen`?");
    }

    #[test]
    fn an_unknown_section_is_placed_and_the_nearest_one_named() {
        let failure = failure("[publsh]\nopen = false\n");
        assert!(
            failure.what.contains("line 1, column 2: unknown field `publsh`"),
            "{failure}"
        );
        assert_eq!(failure.hint, "did you mean `publish`?");
    }

    #[test]
    fn a_key_in_the_wrong_section_is_sent_to_the_right_one() {
        for (text, hint) in [
            (
                "[publish]\nreconnect = true\n",
                "`reconnect` belongs into the section [watch]",
            ),
            (
                "[publish]\nsuites = []\n",
                "`suites` belongs into the section [session]",
            ),
            (
                "[watch]\nmechanisms = []\n",
                "`mechanisms` belongs into the section [session]",
            ),
            (
                "[watch]\nmechanism = []\n",
                "did you mean `mechanisms`, which is in another section?",
            ),
            ("[identity]\ncolour = 1\n", "valid here are file"),
        ] {
            assert_eq!(failure(text).hint, hint, "{text}");
        }
    }

    #[test]
    fn wrong_values_are_placed() {
        for (text, place, words) in [
            ("[publish]\nmax_viewers = 0\n", "line 2, column 15", "from 1 to"),
            ("[publish]\nrekey_seconds = \"ten\"\n", "line 2, column 17", "90s, 10m"),
            ("[session]\nsuites = \"aes\"\n", "line 2, column 10", "list in brackets"),
            (
                "[observe]\nmetrics = \"localhost\"\n",
                "line 2, column 11",
                "no ADDRESS:PORT",
            ),
            ("[publish\n", "line 1, column", ""),
            ("# äöü\nopen = \n", "line 2, column", ""),
        ] {
            let failure = failure(text);
            assert!(
                failure.what.contains(place) && failure.what.contains(words),
                "{text}: {failure}"
            );
        }
    }

    #[test]
    fn secrets_belong_into_files_of_their_own_and_are_not_repeated() {
        for (text, hint) in [
            ("[watch]\nticket = \"sealcast://h:1/abc#hush\"\n", "in ticket_file"),
            ("[publish]\nsource = \"rtsp://admin:hush@cam/1\"\n", "in source_file"),
            ("[gateway]\npeer = \"sealcast://h:1/abc#hush\"\n", "in peer_file"),
            ("[demo]\nsource = \"rtsp://admin:hush@cam/1\"\n", "without it"),
        ] {
            let failure = failure(text);
            assert!(
                failure.what.contains("line 2, column 1") && failure.hint.contains(hint),
                "{failure}"
            );
            assert!(!failure.to_string().contains("hush"), "{failure}");
        }
    }

    #[test]
    fn keys_that_exclude_each_other_are_refused_together() {
        for (text, words) in [
            (
                "[publish]\nlisten = \"a\"\nto = \"b\"\n",
                "line 3, column 1: publish.listen and publish.to",
            ),
            (
                "[gateway]\ncamera_file = \"a\"\n[[camera]]\nsource = \"rtsp://h/\"\n",
                "line 2, column 1: camera and gateway.camera_file",
            ),
        ] {
            let failure = failure(text);
            assert!(failure.what.contains(words), "{failure}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_or_far_too_long_is_said() {
        assert!(
            load(Path::new("/nonexistent.toml"))
                .unwrap_err()
                .what
                .contains("/nonexistent.toml")
        );
        let long = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(long.path(), "#".repeat(MAX_FILE as usize + 1)).unwrap();
        assert!(load(long.path()).unwrap_err().what.contains("1 MiB"));
    }
}
