//! What is in force: the file, with the environment over it, and flags over both.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use toml::{Table, Value};

use super::file::{EXCLUSIVE, FileConfig, check_exclusive, parse, read};
use super::keys::{KEYS, Key, Kind, nearest};
use super::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The configuration file.
    File,
    /// An environment variable.
    Environment,
}

/// The configuration with the environment over it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What is set.
    pub config: FileConfig,
    values: BTreeMap<String, (Origin, Value)>,
}

impl Settings {
    /// Reads the file at `path`, if one is named, and lays the `SEALCAST_SECTION_KEY` variables of `environment` over
    /// it: pass [`std::env::vars_os`].
    ///
    /// # Errors
    /// Kind `Config`, saying where in the file or in which variable.
    pub fn gather(path: Option<&Path>, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self> {
        let mut settings = Self::default();
        let mut table = Table::new();
        if let Some(path) = path {
            let text = read(path)?;
            parse(&text, path)?;
            // It has just been parsed as something stricter.
            table = text.parse().unwrap_or_default();
            settings.note(&table);
        }
        for (name, value) in environment {
            let Some(name) = name.to_str().filter(|name| name.starts_with("SEALCAST_")) else {
                continue;
            };
            let Some(key) = key_of(name)? else { continue };
            let value = value.to_str().ok_or_else(|| refuse(name, "it is not valid UTF-8"))?;
            let value = from_variable(name, key, value)?;
            settings.override_file(&mut table, key);
            put(&mut table, key, value.clone());
            settings.values.insert(key.path(), (Origin::Environment, value));
        }
        settings.config = table.try_into().map_err(|error: toml::de::Error| {
            Failure::new(
                FailureKind::Config,
                error.message(),
                "check the configuration file and the environment",
            )
        })?;
        check_exclusive(&settings.config)
            .map_err(|problem| Failure::new(FailureKind::Config, problem.what, problem.hint))?;
        Ok(settings)
    }

    /// A variable overrides not only its own key in the file but also the one that this key excludes.
    fn override_file(&mut self, table: &mut Table, key: &Key) {
        let of_key = |pair: &&(&str, &str, &str)| pair.0 == key.section && (pair.1 == key.name || pair.2 == key.name);
        let Some((section, first, second)) = EXCLUSIVE.iter().find(of_key) else {
            return;
        };
        let other = if *first == key.name { second } else { first };
        let path = format!("{section}.{other}");
        if self.origin(&path) == Some(Origin::File) {
            self.values.remove(&path);
            if let Some(Value::Table(section)) = table.get_mut(*section) {
                section.remove(*other);
            }
        }
    }

    fn note(&mut self, table: &Table) {
        for key in KEYS {
            let section = table.get(key.section).and_then(Value::as_table);
            if let Some(value) = section.and_then(|section| section.get(key.name)) {
                self.values.insert(key.path(), (Origin::File, value.clone()));
            }
        }
    }

    /// Where `section.key` comes from; `None` if neither file nor environment sets it.
    pub fn origin(&self, path: &str) -> Option<Origin> {
        self.values.get(path).map(|value| value.0)
    }

    /// What `config check` prints: every key, its value without secrets, and where that comes from. `defaults` gives
    /// the values of keys that nothing sets, by `section.key`.
    pub fn table(&self, defaults: &[(&str, &str)]) -> String {
        let mut text = String::new();
        for key in KEYS {
            let path = key.path();
            let default = defaults
                .iter()
                .find(|default| default.0 == path)
                .map(|default| default.1);
            let (value, origin) = match (self.values.get(&path), default) {
                (Some((Origin::File, value)), _) => (value.to_string(), "file".to_owned()),
                (Some((Origin::Environment, value)), _) => (value.to_string(), key.variable()),
                (None, Some(default)) => (default.to_owned(), "default".to_owned()),
                (None, None) => ("-".to_owned(), "not set".to_owned()),
            };
            let mut line = |value: &str| writeln!(text, "{path:<26}{:<44}  {origin}", redact(value));
            let _ = match self.values.get(&path) {
                // A line for each table.
                Some((_, Value::Array(list))) if key.kind == Kind::Tables => {
                    list.iter().try_for_each(|table| line(&table.to_string()))
                }
                _ => line(&value),
            };
        }
        text
    }
}

/// The value in force of an option: the flag's if it was given, else what is configured.
pub fn in_force<T: Clone>(flag: Option<T>, configured: Option<&T>) -> Option<T> {
    flag.or_else(|| configured.cloned())
}

/// Whether a switch is on: by its flag, else as configured, else off.
pub fn flag_in_force(flag: bool, configured: Option<bool>) -> bool {
    flag || configured.unwrap_or(false)
}

/// The list in force: the flags' if any was given, else what is configured, else none.
pub fn list_in_force<T: Clone>(flags: Vec<T>, configured: Option<&Vec<T>>) -> Vec<T> {
    if flags.is_empty() {
        configured.cloned().unwrap_or_default()
    } else {
        flags
    }
}

/// The key that the variable `name` sets; `None` for a variable that is none of ours. A variable that begins like one
/// of a section and is not known is refused: it is a typing error, and to pass it over would leave a wish unheard.
fn key_of(name: &str) -> Result<Option<&'static Key>> {
    if let Some(key) = KEYS.iter().find(|key| key.variable() == name) {
        return Ok(Some(key));
    }
    let of_section = |key: &&Key| name.starts_with(&format!("SEALCAST_{}_", key.section.to_uppercase()));
    if !KEYS.iter().any(|key| of_section(&key)) {
        return Ok(None);
    }
    let variables: Vec<String> = KEYS.iter().map(Key::variable).collect();
    let hint = match nearest(name, variables.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => "docs/sealcast.example.toml shows every option".to_owned(),
    };
    Err(Failure::new(
        FailureKind::Config,
        format!("the environment variable {name} sets nothing"),
        hint,
    ))
}

/// Reads the text of a variable as its key's kind, and lets the file's own types judge the value.
fn from_variable(name: &str, key: &Key, text: &str) -> Result<Value> {
    let value = match key.kind {
        Kind::Text => Value::String(text.to_owned()),
        Kind::Switch => Value::Boolean(match text {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return Err(refuse(name, "it must be true or false")),
        }),
        Kind::Number => Value::Integer(text.parse().map_err(|_| refuse(name, "it must be a whole number"))?),
        Kind::Tables => {
            return Err(refuse(
                name,
                "cameras stand in the file, or in SEALCAST_GATEWAY_CAMERA_FILE",
            ));
        }
        Kind::List => {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            Value::Array(words.map(|word| Value::String(word.to_owned())).collect())
        }
    };
    let mut alone = Table::new();
    put(&mut alone, key, value.clone());
    alone
        .try_into::<FileConfig>()
        .map_err(|error| refuse(name, &redact(error.message())))?;
    Ok(value)
}

fn refuse(name: &str, why: &str) -> Failure {
    let what = format!("the environment variable {name} cannot be used: {why}");
    Failure::new(FailureKind::Config, what, "correct it, or unset it")
}

fn put(table: &mut Table, key: &Key, value: Value) {
    let section = table.entry(key.section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        section.insert(key.name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn gather(text: &str, variables: &[(&str, &str)]) -> Result<Settings> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Settings::gather(Some(file.path()), environment(variables))
    }

    #[test]
    fn flags_override_the_environment_and_the_environment_the_file() {
        let text = "[publish]\nlisten = \"tcp://a:1\"\nmax_viewers = 3\nsuites = [\"x\"]\n";
        let variables = [
            ("SEALCAST_PUBLISH_MAX_VIEWERS", "4"),
            ("SEALCAST_PUBLISH_SUITES", "y, z"),
            ("SEALCAST_WATCH_RECONNECT", "true"),
            ("SEALCAST_LOG", "debug"),
            ("HOME", "/"),
        ];
        let settings = gather(text, &variables).unwrap();
        let publish = &settings.config.publish;
        assert_eq!(in_force(None, publish.listen.as_ref()).as_deref(), Some("tcp://a:1"));
        assert_eq!(
            in_force(Some("tcp://b:2".to_owned()), publish.listen.as_ref()).as_deref(),
            Some("tcp://b:2")
        );
        assert_eq!(publish.max_viewers, NonZeroU32::new(4));
        assert_eq!(list_in_force(vec![], publish.suites.as_ref()), ["y", "z"]);
        assert_eq!(list_in_force(vec!["w".to_owned()], publish.suites.as_ref()), ["w"]);
        assert!(flag_in_force(false, settings.config.watch.reconnect));
        assert_eq!(settings.origin("publish.listen"), Some(Origin::File));
        assert_eq!(settings.origin("publish.max_viewers"), Some(Origin::Environment));
        assert_eq!(settings.origin("publish.to"), None);
    }

    #[test]
    fn a_variable_overrides_the_key_it_excludes() {
        let settings = gather("[publish]\nlisten = \"a\"\n", &[("SEALCAST_PUBLISH_TO", "b")]).unwrap();
        assert_eq!(
            (settings.config.publish.listen, settings.config.publish.to.as_deref()),
            (None, Some("b"))
        );
        let both = [("SEALCAST_PUBLISH_TO", "b"), ("SEALCAST_PUBLISH_LISTEN", "a")];
        assert!(gather("", &both).unwrap_err().what.contains("exclude each other"));
    }

    #[test]
    fn the_keys_listed_are_those_of_the_sections() {
        for key in KEYS {
            let value = match (key.kind, key.name) {
                (Kind::Tables, _) => continue,
                (_, "metrics" | "rtsp") => "127.0.0.1:9464",
                (Kind::Switch, _) => "true",
                (Kind::Number, _) => "7",
                (Kind::Text | Kind::List, _) => "some",
            };
            let settings = Settings::gather(None, environment(&[(&key.variable(), value)])).unwrap();
            let json = serde_json::to_value(&settings.config).unwrap();
            assert!(!json[key.section][key.name].is_null(), "{} sets nothing", key.path());
        }
        let json = serde_json::to_value(FileConfig::default()).unwrap();
        let fields = json
            .as_object()
            .unwrap()
            .values()
            .map(|section| section.as_object().unwrap().len());
        assert_eq!(
            fields.sum::<usize>(),
            KEYS.len(),
            "a field is missing from the list of keys"
        );
    }

    #[test]
    fn a_variable_that_is_wrong_is_named() {
        for (name, value, words) in [
            ("SEALCAST_PUBLISH_LISEN", "x", "did you mean SEALCAST_PUBLISH_LISTEN?"),
            ("SEALCAST_PUBLISH_MAX_VIEWERS", "many", "whole number"),
            ("SEALCAST_PUBLISH_MAX_VIEWERS", "0", "nonzero"),
            ("SEALCAST_PUBLISH_OPEN", "maybe", "true or false"),
            ("SEALCAST_OBSERVE_METRICS", "here", "socket address"),
        ] {
            let failure = Settings::gather(None, environment(&[(name, value)])).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Config);
            assert!(
                failure.what.contains(name) && failure.to_string().contains(words),
                "{failure}"
            );
        }
    }

    #[test]
    fn the_check_shows_values_origins_and_no_secret() {
        let variables = [("SEALCAST_WATCH_TICKET", "sealcast://h:1/abc#hush")];
        let settings = gather("[publish]\nopen = true\n", &variables).unwrap();
        assert_eq!(settings.config.watch.ticket.as_deref(), Some("sealcast://h:1/abc#hush"));
        let table = settings.table(&[("publish.rekey_seconds", "600"), ("publish.open", "false")]);
        let line = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
        assert!(line("publish.open ").contains("true") && line("publish.open ").ends_with("file"));
        assert!(line("publish.rekey_seconds").contains("600") && line("publish.rekey_seconds").ends_with("default"));
        assert!(line("watch.ticket ").ends_with("SEALCAST_WATCH_TICKET"));
        assert!(line("watch.to").ends_with("not set"));
        assert!(!table.contains("hush"), "{table}");
    }
}
