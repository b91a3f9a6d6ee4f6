//! The effective settings: the defaults, overridden by the file, then the environment, then the flags.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use toml::{Table, Value};

use super::file;
use super::option::{Kind, Opt, nearest};
use super::options::{Config, OPTIONS};
use super::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};

/// Origin of a value. A later kind overrides an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The configuration file: its path, with line and column of the key.
    File(String),
    /// The environment variable with this name.
    Environment(String),
    /// The command line.
    Flag,
}

impl Origin {
    /// Origin of the value, in a word.
    fn name(&self) -> &str {
        match self {
            Self::File(_) => "file",
            Self::Environment(name) => name,
            Self::Flag => "flag",
        }
    }
}

/// The effective settings and the origin of each.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The effective settings.
    pub config: Config,
    values: BTreeMap<&'static str, (Origin, Value)>,
    /// Place of each camera of the file.
    cameras_at: Vec<String>,
}

impl Settings {
    /// Read the file at `path`, if there is one, and override it with the `SEALCAST_SECTION_KEY` variables in
    /// `environment` (pass [`std::env::vars_os`]) and then with the values of `flags`.
    ///
    /// # Errors
    /// Kind `Config`, naming the position in the file or the variable.
    pub fn gather(
        path: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        flags: impl IntoIterator<Item = (&'static Opt, Value)>,
    ) -> Result<Self> {
        let mut settings = Self::default();
        let entries = path.map(file::load).transpose()?;
        for entry in entries.into_iter().flatten() {
            settings.cameras_at.extend(entry.tables);
            settings.set(entry.opt, Origin::File(entry.place), entry.value);
        }
        for (name, value) in environment {
            let Some(name) = name.to_str().filter(|name| name.starts_with("SEALCAST_")) else {
                continue;
            };
            let Some(opt) = option_of(name)? else { continue };
            let text = value.to_str().ok_or("it is not valid UTF-8".to_owned());
            let value = text.and_then(|text| opt.read(text)).map_err(|why| refuse(name, &why))?;
            settings.set(opt, Origin::Environment(name.to_owned()), value);
        }
        for (opt, value) in flags {
            settings.set(opt, Origin::Flag, value);
        }
        settings.check_exclusive()?;
        settings.config = settings.resolved()?;
        for (path, (origin, value)) in &settings.values {
            tracing::debug!(option = path, value = %redact(&value.to_string()), by = origin.name(), "set");
        }
        Ok(settings)
    }

    /// Set a value. It overrides values of earlier origins for its own key and for the keys that it excludes. An
    /// empty list sets nothing.
    fn set(&mut self, opt: &'static Opt, origin: Origin, value: Value) {
        if value.as_array().is_some_and(Vec::is_empty) {
            return;
        }
        let kind = std::mem::discriminant(&origin);
        for other in OPTIONS.iter().filter(|other| opt.conflicts_with(other)) {
            if self
                .origin(other.path)
                .is_some_and(|origin| std::mem::discriminant(origin) != kind)
            {
                self.values.remove(other.path);
            }
        }
        self.values.insert(opt.path, (origin, value));
    }

    /// Reject variables that exclude each other. For the file this was already checked, with the position; clap
    /// checks the flags.
    fn check_exclusive(&self) -> Result<()> {
        let set: Vec<&Opt> = OPTIONS
            .iter()
            .filter(|opt| self.values.contains_key(opt.path))
            .collect();
        let pairs = set
            .iter()
            .flat_map(|first| set.iter().map(move |second| (first, second)));
        match pairs.into_iter().find(|(first, second)| first.conflicts_with(second)) {
            None => Ok(()),
            Some((first, second)) => {
                let what = format!("{} and {} exclude each other", first.path, second.path);
                Err(Failure::new(FailureKind::Config, what, "keep one of them"))
            }
        }
    }

    fn resolved(&self) -> Result<Config> {
        let mut table = Table::new();
        for opt in OPTIONS {
            let Some((_, value)) = self.values.get(opt.path) else {
                continue;
            };
            if opt.kind == Kind::Tables {
                table.insert(opt.key.to_owned(), value.clone());
                continue;
            }
            let section = table.entry(opt.section).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(section) = section {
                section.insert(opt.key.to_owned(), value.clone());
            }
        }
        table.try_into().map_err(|error: toml::de::Error| {
            let what = format!("the values do not fit together: {}", redact(error.message()));
            Failure::new(FailureKind::Internal, what, "please report this")
        })
    }

    /// These settings with the cameras of others.
    pub fn with_cameras_of(&self, other: &Self) -> Self {
        let mut settings = self.clone();
        for path in ["camera", "publish.source", "publish.source_file"] {
            match other.values.get_key_value(path) {
                Some((path, value)) => settings.values.insert(*path, value.clone()),
                None => settings.values.remove(path),
            };
        }
        settings.cameras_at.clone_from(&other.cameras_at);
        settings.config.camera.clone_from(&other.config.camera);
        settings.config.publish.source.clone_from(&other.config.publish.source);
        settings
            .config
            .publish
            .source_file
            .clone_from(&other.config.publish.source_file);
        settings
    }

    /// Origin of `section.key`; `None` if nothing sets it.
    pub fn origin(&self, path: &str) -> Option<&Origin> {
        self.values.get(path).map(|value| &value.0)
    }

    /// Adapt a failure about the value of `section.key`: if the value was not typed on the command line, the failure
    /// is one of the configuration and names its origin.
    pub fn placed(&self, path: &str, failure: Failure) -> Failure {
        placed(self.origin(path), failure)
    }

    /// As [`placed`](Self::placed), for a failure about the camera with this number, from 0 on.
    pub fn placed_at_camera(&self, number: usize, failure: Failure) -> Failure {
        let place = self.cameras_at.get(number).cloned().map(Origin::File);
        placed(place.as_ref().or(self.origin("camera")), failure)
    }

    /// The output of `config check`: every key, its value without secrets, and its origin.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let width = OPTIONS.iter().map(|opt| opt.path.len()).max().unwrap_or_default();
        for opt in OPTIONS {
            let (value, origin) = match (self.values.get(opt.path), opt.shown_default()) {
                (Some((origin, value)), _) => (value.to_string(), origin.name()),
                (None, Some(default)) => (default.to_owned(), "default"),
                (None, None) => ("-".to_owned(), "not set"),
            };
            let mut line = |value: &str| writeln!(text, "{:<width$}  {:<44}  {origin}", opt.path, redact(value));
            let _ = match self.values.get(opt.path) {
                // One line for each table.
                Some((_, Value::Array(list))) if opt.kind == Kind::Tables => {
                    list.iter().try_for_each(|table| line(&table.to_string()))
                }
                _ => line(&value),
            };
        }
        text
    }
}

fn placed(origin: Option<&Origin>, mut failure: Failure) -> Failure {
    if failure.kind != FailureKind::Usage {
        return failure;
    }
    let place = match origin {
        Some(Origin::File(place)) => place.clone(),
        Some(Origin::Environment(name)) => format!("the environment variable {name} cannot be used"),
        Some(Origin::Flag) | None => return failure,
    };
    failure.kind = FailureKind::Config;
    failure.what = format!("{place}: {}", failure.what);
    failure
}

/// The option set by the variable `name`; `None` if the variable is not one of ours. An unknown variable that begins
/// like one of a section is an error: it is probably misspelled, and the option would silently stay unset.
fn option_of(name: &str) -> Result<Option<&'static Opt>> {
    if let Some(opt) = OPTIONS.iter().find(|opt| opt.variable() == name) {
        return Ok(Some(opt));
    }
    let prefix = |opt: &Opt| format!("SEALCAST_{}_", opt.section.to_uppercase());
    let Some(key) = OPTIONS.iter().find_map(|opt| name.strip_prefix(&prefix(opt))) else {
        return Ok(None);
    };
    let variables: Vec<String> = OPTIONS.iter().map(Opt::variable).collect();
    let elsewhere = OPTIONS
        .iter()
        .find(|opt| opt.key.eq_ignore_ascii_case(key))
        .map(Opt::variable);
    let near = elsewhere.or_else(|| nearest(name, variables.iter().map(String::as_str)).map(str::to_owned));
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "`sealcast config example` shows every option".to_owned(),
    };
    Err(Failure::new(
        FailureKind::Config,
        format!("the environment variable {name} sets nothing"),
        hint,
    ))
}

fn refuse(name: &str, why: &str) -> Failure {
    let what = format!("the environment variable {name} cannot be used: {why}");
    Failure::new(FailureKind::Config, what, "correct it, or unset it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn flags(flags: &[(&str, &str)]) -> Vec<(&'static Opt, Value)> {
        let opt = |path: &str| OPTIONS.iter().find(|opt| opt.path == path).unwrap();
        flags
            .iter()
            .map(|(path, text)| (opt(path), opt(path).read(text).unwrap()))
            .collect()
    }

    fn gather(text: &str, variables: &[(&str, &str)], typed: &[(&str, &str)]) -> Result<Settings> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Settings::gather(Some(file.path()), environment(variables), flags(typed))
    }

    #[test]
    fn flags_override_the_environment_and_the_environment_the_file() {
        let text = "[publish]\nlisten = \"tcp://a:1\"\nmax_viewers = 3\n[session]\nsuites = [\"x\"]\n";
        let variables = [
            ("SEALCAST_PUBLISH_MAX_VIEWERS", "4"),
            ("SEALCAST_SESSION_SUITES", "y, z"),
            ("SEALCAST_WATCH_RECONNECT", "true"),
            ("SEALCAST_LOG", "debug"),
            ("HOME", "/"),
        ];
        let settings = gather(text, &variables, &[]).unwrap();
        let publish = &settings.config.publish;
        assert_eq!(publish.listen, "tcp://a:1");
        assert_eq!(publish.max_viewers.get(), 4);
        assert_eq!(settings.config.session.suites, ["y", "z"]);
        assert!(settings.config.watch.reconnect);
        assert!(matches!(settings.origin("publish.listen"), Some(Origin::File(place)) if place.contains("line 2")));
        assert!(matches!(
            settings.origin("publish.max_viewers"),
            Some(Origin::Environment(_))
        ));
        assert_eq!(settings.origin("publish.to"), None);
        let typed = [
            ("publish.listen", "tcp://b:2"),
            ("session.suites", "w"),
            ("watch.reconnect", "false"),
        ];
        let settings = gather(text, &variables, &typed).unwrap();
        assert_eq!(settings.config.publish.listen, "tcp://b:2");
        assert_eq!(settings.config.session.suites, ["w"]);
        assert!(!settings.config.watch.reconnect);
        assert_eq!(settings.origin("publish.listen"), Some(&Origin::Flag));
    }

    #[test]
    fn defaults_hold_where_nothing_is_said_and_an_empty_list_says_nothing() {
        let settings = gather("[session]\nsuites = []\n", &[("SEALCAST_SESSION_MECHANISMS", "")], &[]).unwrap();
        assert_eq!(settings.config, Config::default());
        assert_eq!(settings.config.publish.max_viewers.get(), 16);
        assert_eq!(settings.config.publish.listen, "tcp://[::]:9553");
    }

    #[test]
    fn a_value_overrides_the_key_it_excludes_where_that_comes_from_elsewhere() {
        let file = "[publish]\nlisten = \"a\"\n";
        let variable = [("SEALCAST_PUBLISH_TO", "b")];
        let settings = gather(file, &variable, &[]).unwrap();
        assert_eq!(settings.origin("publish.listen"), None);
        assert_eq!(settings.config.publish.to.as_deref(), Some("b"));
        let settings = gather(file, &variable, &[("publish.listen", "c")]).unwrap();
        assert_eq!(
            (settings.config.publish.to, settings.config.publish.listen.as_str()),
            (None, "c")
        );
        let both = [("SEALCAST_PUBLISH_TO", "b"), ("SEALCAST_PUBLISH_LISTEN", "a")];
        assert!(gather("", &both, &[]).unwrap_err().what.contains("exclude each other"));
    }

    #[test]
    fn every_key_has_a_variable_that_sets_it() {
        for opt in OPTIONS.iter().filter(|opt| opt.kind != Kind::Tables) {
            let value = match (opt.kind, opt.default) {
                (Kind::Switch, Some("true")) => "false",
                (Kind::Switch, _) => "true",
                (Kind::Number | Kind::Length, _) => "7",
                (_, _) if opt.read("some").is_err() => "127.0.0.1:7",
                (_, _) => "some",
            };
            let settings = Settings::gather(None, environment(&[(&opt.variable(), value)]), []).unwrap();
            assert_ne!(settings.config, Config::default(), "{} sets nothing", opt.path);
        }
    }

    #[test]
    fn a_variable_that_is_wrong_is_named() {
        for (name, value, words) in [
            ("SEALCAST_PUBLISH_LISEN", "x", "did you mean SEALCAST_PUBLISH_LISTEN?"),
            ("SEALCAST_PUBLISH_SUITES", "x", "did you mean SEALCAST_SESSION_SUITES?"),
            ("SEALCAST_PUBLISH_MAX_VIEWERS", "many", "whole number"),
            ("SEALCAST_PUBLISH_MAX_VIEWERS", "0", "from 1 to 4294967295"),
            ("SEALCAST_PUBLISH_OPEN", "maybe", "true or false"),
            ("SEALCAST_PUBLISH_REKEY_SECONDS", "ten", "200ms, 90s, 10m"),
            ("SEALCAST_OBSERVE_METRICS", "here", "no ADDRESS:PORT"),
        ] {
            let failure = Settings::gather(None, environment(&[(name, value)]), []).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Config);
            assert!(
                failure.what.contains(name) && failure.to_string().contains(words),
                "{failure}"
            );
        }
    }

    #[test]
    fn a_failure_to_use_a_value_says_where_the_value_is() {
        let settings = gather(
            "[publish]\n encrypt = \"some\"\n",
            &[("SEALCAST_PUBLISH_UNIT", "slice")],
            &[("publish.listen", "here")],
        )
        .unwrap();
        let placed = |path| settings.placed(path, Failure::new(FailureKind::Usage, "no", "yes"));
        assert_eq!(placed("publish.encrypt").kind, FailureKind::Config);
        assert!(placed("publish.encrypt").what.ends_with(", line 2, column 2: no"));
        assert!(placed("publish.unit").what.contains("SEALCAST_PUBLISH_UNIT"));
        assert_eq!(placed("publish.listen").to_string(), "no; yes");
        assert_eq!(placed("publish.listen").kind, FailureKind::Usage);
    }

    #[test]
    fn a_failure_of_a_camera_says_where_that_one_stands() {
        let text = "[[camera]]\nname = \"a\"\nsource = \"test:\"\n\n[[camera]]\nname = \"b\"\nsource = \"test:\"\n";
        let settings = gather(text, &[], &[]).unwrap();
        let placed = |number| {
            settings
                .placed_at_camera(number, Failure::new(FailureKind::Usage, "no", "yes"))
                .what
        };
        assert!(placed(0).contains(", line 1, "), "{}", placed(0));
        assert!(placed(1).contains(", line 5, "), "{}", placed(1));
    }

    #[test]
    fn the_check_shows_values_origins_and_no_secret() {
        let variables = [("SEALCAST_WATCH_TICKET", "sealcast://h:1/abc#hush")];
        let settings = gather("[publish]\nopen = true\n", &variables, &[]).unwrap();
        assert_eq!(settings.config.watch.ticket.as_deref(), Some("sealcast://h:1/abc#hush"));
        let table = settings.table();
        let line = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
        assert!(line("publish.open ").contains("true") && line("publish.open ").ends_with("file"));
        assert!(line("publish.rekey_seconds").contains("10m") && line("publish.rekey_seconds").ends_with("default"));
        assert!(line("watch.ticket ").ends_with("SEALCAST_WATCH_TICKET"));
        assert!(line("watch.ticket_file").ends_with("not set"));
        assert!(!table.contains("hush"), "{table}");
        for (line, opt) in table.lines().zip(OPTIONS) {
            assert_eq!(line.split_whitespace().next(), Some(opt.path), "{line}");
        }
    }
}
