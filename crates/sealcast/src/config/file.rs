//! The file: its sections, and what is said when it is wrong.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::de::DeTable;

use super::camera::{self, Camera};
use super::keys::{KEYS, nearest};
use super::secrets::{has_secret, redact};
use crate::failure::{Failure, FailureKind, Result};

/// Longest configuration file; anything longer is some other file.
const MAX_FILE: u64 = 1024 * 1024;

/// What a configuration file says. Whatever it leaves out is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileConfig {
    /// `[publish]`.
    pub publish: Publish,
    /// `[watch]`.
    pub watch: Watch,
    /// `[demo]`.
    pub demo: Demo,
    /// `[gateway]`.
    pub gateway: Gateway,
    /// `[identity]`.
    pub identity: Identity,
    /// `[observe]`.
    pub observe: Observe,
}

/// What `sealcast publish` does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Publish {
    /// Where frames come from; without a password in it.
    pub source: Option<String>,
    /// File whose first line is the source, for a source with a password.
    pub source_file: Option<PathBuf>,
    /// URL to wait for viewers on.
    pub listen: Option<String>,
    /// Ticket of a viewer that waits, or `@` and a file with it, to connect to instead.
    pub to: Option<String>,
    /// Suites offered, preferred first.
    pub suites: Option<Vec<String>>,
    /// Key establishment mechanisms offered, preferred first.
    pub mechanisms: Option<Vec<String>>,
    /// File with the peer ids that are let in.
    pub allow: Option<PathBuf>,
    /// Whether everybody is let in.
    pub open: Option<bool>,
    /// Whether the ticket carries an invite.
    pub invite: Option<bool>,
    /// File to write the ticket to.
    pub ticket_file: Option<PathBuf>,
    /// Most viewers at a time.
    pub max_viewers: Option<NonZeroU32>,
    /// Frames that may wait for a slow viewer.
    pub queue_frames: Option<NonZeroU32>,
    /// Longest life of an epoch in seconds.
    pub rekey_seconds: Option<NonZeroU64>,
    /// Most records in an epoch.
    pub rekey_records: Option<NonZeroU64>,
    /// What is encrypted.
    pub encrypt: Option<String>,
    /// What a selection by rate draws from.
    pub encrypt_seed: Option<u64>,
    /// What is sealed at once.
    pub unit: Option<String>,
    /// Where commands come in.
    pub control: Option<PathBuf>,
    /// Bits per second for sources that are encoded here.
    pub bitrate: Option<NonZeroU32>,
    /// What that may fall to where the path to a viewer carries no more.
    pub bitrate_min: Option<NonZeroU32>,
    /// What it may grow to where the path carries more.
    pub bitrate_max: Option<NonZeroU32>,
}

/// What `sealcast watch` does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// The ticket; without an invite in it.
    pub ticket: Option<String>,
    /// File whose first line is the ticket, for a ticket with an invite.
    pub ticket_file: Option<PathBuf>,
    /// Where frames go.
    pub to: Option<String>,
    /// Whether to connect again when the connection breaks.
    pub reconnect: Option<bool>,
}

/// What `sealcast demo` does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Demo {
    /// Where frames come from.
    pub source: Option<String>,
    /// How long it runs, in seconds.
    pub seconds: Option<NonZeroU64>,
    /// Whether it runs without a browser page.
    pub headless: Option<bool>,
}

/// What `sealcast gateway` does. For the camera gateway, which publishes, `[publish]` holds as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gateway {
    /// Cameras, `[[gateway.camera]]`.
    pub camera: Vec<Camera>,
    /// File with a camera in each line, `[PATH=]rtsp://…`.
    pub camera_file: Option<PathBuf>,
    /// The camera gateway's ticket; without an invite in it.
    pub peer: Option<String>,
    /// File whose first line is that ticket, for a ticket with an invite.
    pub peer_file: Option<PathBuf>,
    /// Address and port to serve players at.
    pub rtsp: Option<SocketAddr>,
    /// User name that players must give.
    pub rtsp_user: Option<String>,
    /// File with the password that goes with it.
    pub rtsp_password_file: Option<PathBuf>,
}

impl Gateway {
    /// Whether cameras are configured.
    pub(crate) fn has_cameras(&self) -> bool {
        self.camera_file.is_some() || !self.camera.is_empty()
    }
}

/// Who this end is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Identity {
    /// Identity file.
    pub file: Option<PathBuf>,
}

/// What is measured and where it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Observe {
    /// File for the summary at exit.
    pub report: Option<PathBuf>,
    /// Directory for the CSV logs.
    pub log_dir: Option<PathBuf>,
    /// Address and port to serve metrics on.
    pub metrics: Option<SocketAddr>,
    /// What measures energy.
    pub meter: Option<String>,
}

/// Reads the configuration file at `path`.
///
/// # Errors
/// Kind `Config`, with line, column and the nearest valid key, if it cannot be read or something in it is wrong, or if
/// it holds a secret.
pub fn load(path: &Path) -> Result<FileConfig> {
    parse(&read(path)?, path)
}

pub(super) fn read(path: &Path) -> Result<String> {
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

/// Parses `text`, which came from `path`.
pub(super) fn parse(text: &str, path: &Path) -> Result<FileConfig> {
    let config: FileConfig = toml::from_str(text).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default();
        wrong(text, path, error.span(), &redact(message), &hint(message))
    })?;
    check(&config).map_err(|problem| wrong(text, path, span_of(text, &problem), &problem.what, problem.hint))?;
    Ok(config)
}

/// What is wrong with a key.
pub(super) struct Problem {
    pub(super) section: &'static str,
    /// The list of tables within the section, and the number of the one with the key.
    pub(super) element: Option<(&'static str, usize)>,
    /// What is no key is about the whole table.
    pub(super) key: &'static str,
    pub(super) what: String,
    pub(super) hint: &'static str,
}

/// Pairs of keys of which one at most may be set, by section.
pub(super) const EXCLUSIVE: &[(&str, &str, &str)] = &[
    ("publish", "listen", "to"),
    ("publish", "source", "source_file"),
    ("watch", "ticket", "ticket_file"),
    ("gateway", "camera", "camera_file"),
    ("gateway", "peer", "peer_file"),
];

/// What the types cannot say of a file: keys that exclude each other, and secrets that belong into files of their own.
fn check(config: &FileConfig) -> Result<(), Problem> {
    check_exclusive(config)?;
    let source_hint = "write the source into a file only you may read, and name that file in source_file";
    no_secret(
        "publish",
        "source",
        config.publish.source.as_ref(),
        "a password",
        source_hint,
    )?;
    no_secret(
        "demo",
        "source",
        config.demo.source.as_ref(),
        "a password",
        "use a source without a password",
    )?;
    let ticket_hint = "write the ticket into a file only you may read, and name that file in ticket_file";
    no_secret(
        "watch",
        "ticket",
        config.watch.ticket.as_ref(),
        "an invite",
        ticket_hint,
    )?;
    let peer_hint = "write the ticket into a file only you may read, and name that file in peer_file";
    no_secret("gateway", "peer", config.gateway.peer.as_ref(), "an invite", peer_hint)?;
    camera::check(&config.gateway.camera)
}

/// Keys that exclude each other.
pub(super) fn check_exclusive(config: &FileConfig) -> Result<(), Problem> {
    let Publish {
        source,
        source_file,
        listen,
        to,
        ..
    } = &config.publish;
    let Watch {
        ticket, ticket_file, ..
    } = &config.watch;
    let gateway = &config.gateway;
    let both = [
        listen.is_some() && to.is_some(),
        source.is_some() && source_file.is_some(),
        ticket.is_some() && ticket_file.is_some(),
        !gateway.camera.is_empty() && gateway.camera_file.is_some(),
        gateway.peer.is_some() && gateway.peer_file.is_some(),
    ];
    let Some((_, &(section, first, key))) = both.into_iter().zip(EXCLUSIVE).find(|(both, _)| *both) else {
        return Ok(());
    };
    let what = format!("{section}.{first} and {section}.{key} exclude each other");
    Err(Problem {
        section,
        element: None,
        key,
        what,
        hint: "keep one of them",
    })
}

fn no_secret(
    section: &'static str,
    key: &'static str,
    value: Option<&String>,
    secret: &str,
    hint: &'static str,
) -> Result<(), Problem> {
    if !value.is_some_and(|value| has_secret(value)) {
        return Ok(());
    }
    let what = format!("{section}.{key} carries {secret}, which must not stand in a configuration file");
    Err(Problem {
        section,
        element: None,
        key,
        what,
        hint,
    })
}

/// A failure at `span` of `text`. The line itself is not shown: there may be a secret in it.
fn wrong(text: &str, path: &Path, span: Option<Range<usize>>, what: &str, hint: &str) -> Failure {
    let place = span.map_or_else(String::new, |span| {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!(", line {line}, column {column}")
    });
    Failure::new(FailureKind::Config, format!("{}{place}: {what}", path.display()), hint)
}

/// What to do about a message of the parser.
fn hint(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if !message.starts_with("unknown ") {
        return "docs/sealcast.example.toml shows every option with a valid value".to_owned();
    }
    let Some(unknown) = quoted.next() else {
        return "docs/sealcast.example.toml shows every option".to_owned();
    };
    let valid: Vec<&str> = quoted.collect();
    if let Some(near) = nearest(unknown, valid.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if let Some(elsewhere) = KEYS.iter().find(|key| key.name == unknown) {
        return format!("`{unknown}` belongs into the section [{}]", elsewhere.section);
    }
    format!("valid here are {}", valid.join(", "))
}

/// Where in a text that parses a problem is.
fn span_of(text: &str, problem: &Problem) -> Option<Range<usize>> {
    let table = DeTable::parse(text).ok()?;
    let mut inner = table.get_ref().get(problem.section)?;
    if let Some((name, at)) = problem.element {
        inner = inner.get_ref().get(name)?.get_ref().get(at)?;
    }
    let mut keys = inner.get_ref().as_table()?.keys();
    let key = keys.find(|name| name.get_ref().as_ref() == problem.key);
    Some(key.map_or_else(|| inner.span(), |key| key.span()))
}

#[cfg(test)]
mod tests {
    use super::super::keys::Kind;
    use super::*;

    const EXAMPLE: &str = include_str!("../../../../docs/sealcast.example.toml");

    fn failure(text: &str) -> Failure {
        let failure = parse(text, Path::new("sealcast.toml")).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Config);
        failure
    }

    #[test]
    fn the_example_parses_as_it_is_and_sets_nothing_dangerous() {
        let config = parse(EXAMPLE, Path::new("example")).unwrap();
        assert_ne!(config.publish.open, Some(true));
    }

    #[test]
    fn the_example_shows_every_key_with_a_valid_value() {
        for key in KEYS.iter().filter(|key| key.kind != Kind::Tables) {
            let start = EXAMPLE.find(&format!("[{}]", key.section)).unwrap();
            let section = &EXAMPLE[start..];
            let section = section.split("\n[").next().unwrap();
            let set = |line: &&str| line.trim_start_matches("# ").split(" = ").next() == Some(key.name);
            let line = section
                .lines()
                .find(set)
                .unwrap_or_else(|| panic!("{} is not in the example", key.path()));
            let line = line.trim_start_matches("# ");
            let alone = format!("[{}]\n{line}\n", key.section);
            parse(&alone, Path::new("example")).unwrap_or_else(|failure| panic!("{line}: {failure}"));
        }
    }

    #[test]
    fn the_example_shows_cameras_with_every_key() {
        let start = EXAMPLE.find("# [[gateway.camera]]").unwrap();
        let section = EXAMPLE[start..].split("\n[").next().unwrap();
        let cameras: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        let config = parse(&cameras.join("\n"), Path::new("example")).unwrap();
        let shown = serde_json::to_value(&config.gateway.camera).unwrap();
        for (key, _) in serde_json::to_value(Camera::default()).unwrap().as_object().unwrap() {
            let set = |camera: &serde_json::Value| !camera[key].is_null();
            assert!(shown.as_array().unwrap().iter().any(set), "{key} is not in the example");
        }
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
        let failure = failure("[publish]\nreconnect = true\n");
        assert_eq!(failure.hint, "`reconnect` belongs into the section [watch]");
    }

    #[test]
    fn wrong_values_are_placed() {
        for (text, place, words) in [
            ("[publish]\nmax_viewers = 0\n", "line 2, column 15", "nonzero"),
            ("[publish]\nsuites = \"aes\"\n", "line 2, column 10", "sequence"),
            (
                "[observe]\nmetrics = \"localhost\"\n",
                "line 2, column 11",
                "socket address",
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
        for (text, file_key) in [
            ("[watch]\nticket = \"sealcast://h:1/abc#hush\"\n", "ticket_file"),
            ("[publish]\nsource = \"rtsp://admin:hush@cam/1\"\n", "source_file"),
        ] {
            let failure = failure(text);
            assert!(
                failure.what.contains("line 2, column 1") && failure.hint.contains(file_key),
                "{failure}"
            );
            assert!(!failure.to_string().contains("hush"), "{failure}");
        }
    }

    #[test]
    fn keys_that_exclude_each_other_are_refused_together() {
        let failure = failure("[publish]\nlisten = \"a\"\nto = \"b\"\n");
        assert!(
            failure.what.contains("line 3, column 1: publish.listen and publish.to"),
            "{failure}"
        );
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
