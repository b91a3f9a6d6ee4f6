//! The declaration of an option: its flag, key, variable, kind, default and help.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use toml::Value;

use super::secrets::redact;
use crate::length::Length;
use crate::meter::url::MetricsUrl;

/// Form of a value. It determines how the text of a flag, a variable or a default is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text, used unchanged.
    Text,
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Number,
    /// A length of time.
    Length,
    /// Names separated by commas.
    List,
    /// Tables, which only the file can hold.
    Tables,
}

/// A type that an option can have.
pub trait Setting: DeserializeOwned {
    /// Form of the type's values.
    const KIND: Kind;

    /// The value of an option without a default if nothing sets it; `None` if the type has no such value.
    fn unset() -> Option<Self> {
        None
    }
}

macro_rules! settings {
    ($($type:ty: $kind:ident,)*) => { $(impl Setting for $type { const KIND: Kind = Kind::$kind; })* };
}

settings! {
    String: Text,
    PathBuf: Text,
    SocketAddr: Text,
    MetricsUrl: Text,
    bool: Switch,
    u64: Number,
    NonZeroU32: Number,
    Vec<String>: List,
}

impl<const MILLISECONDS: u64> Setting for Length<MILLISECONDS> {
    const KIND: Kind = Kind::Length;
}

impl<T: Setting> Setting for Option<T> {
    const KIND: Kind = T::KIND;

    fn unset() -> Option<Self> {
        Some(None)
    }
}

/// The default of the one of these options that is at `path`.
pub(super) fn default_of<T: Setting>(options: &[Opt], path: &str) -> T {
    let opt = options.iter().find(|opt| opt.path == path);
    let default = opt.and_then(|opt| opt.read(opt.default?).ok());
    let default = default.map_or_else(T::unset, |value| value.try_into().ok());
    default.expect("a type that cannot be unset has a default, which a test reads")
}

/// Heading of the options used only for measurements.
pub const STUDY: &str = "Study";

/// Form of an option on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// It cannot be given there.
    None,
    /// A positional argument, with its name in the usage.
    Positional(&'static str),
    /// `--name VALUE`.
    Value(&'static str, &'static str),
    /// `--name`, which turns it on.
    On(&'static str),
    /// `--name`, which turns it off, with the help text of the flag.
    Off(&'static str, &'static str),
}

/// An option. Section, key, path, help, kind and `accepts` are filled in by [`options`](super::options).
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Section of the configuration, without brackets.
    pub section: &'static str,
    /// Name within the section.
    pub key: &'static str,
    /// `section.key`.
    pub path: &'static str,
    /// Meaning, with unit and range, without a full stop at the end.
    pub help: &'static str,
    /// The same in a few words, for the short help; `None` to show it only in the long one.
    pub brief: Option<&'static str>,
    /// Heading under which the help shows it.
    pub heading: Option<&'static str>,
    /// Values that a shell may complete; others are valid too.
    pub words: &'static [&'static str],
    /// Form of its value.
    pub kind: Kind,
    /// Returns an error if a value does not have the option's type.
    pub accepts: fn(Value) -> Result<(), toml::de::Error>,
    /// Form on the command line.
    pub flag: Flag,
    /// The commands that take it; `camera` and `viewer` are those of `gateway`.
    pub commands: &'static [&'static str],
    /// The default value, in the form of a variable's text.
    pub default: Option<&'static str>,
    /// For an option without a default: a description of the behaviour if nothing sets it, shown to the user only.
    pub unset: Option<&'static str>,
    /// Value for the example file, in the form of a variable's text; `None` to show the default.
    pub example: Option<&'static str>,
    /// The kind of secret that its text may contain. A configuration file must not contain it.
    pub secret: Option<&'static str>,
    /// Key of the same section, or `section.key`, that cannot be set together with it.
    pub excludes: Option<&'static str>,
}

/// Returns an error if `value` is not a `T`.
pub(super) fn accepts<T: Setting>(value: Value) -> Result<(), toml::de::Error> {
    value.try_into::<T>().map(drop)
}

/// An option that can be set only in the file and in the environment.
pub(super) const fn key() -> Opt {
    Opt {
        section: "",
        key: "",
        path: "",
        help: "",
        brief: None,
        heading: None,
        words: &[],
        kind: Kind::Text,
        accepts: accepts::<String>,
        flag: Flag::None,
        commands: &[],
        default: None,
        unset: None,
        example: None,
        secret: None,
        excludes: None,
    }
}

/// An option given as a positional argument of these commands; `value` is its name in the usage.
pub(super) const fn positional(value: &'static str, commands: &'static [&'static str]) -> Opt {
    given(Flag::Positional(value), commands)
}

/// An option with the flag `--name VALUE` on these commands.
pub(super) const fn flag(name: &'static str, value: &'static str, commands: &'static [&'static str]) -> Opt {
    given(Flag::Value(name, value), commands)
}

/// A switch, off by default; the flag `--name` of these commands turns it on.
pub(super) const fn on_flag(name: &'static str, commands: &'static [&'static str]) -> Opt {
    given(Flag::On(name), commands).default("false")
}

/// A switch, on by default; the flag `--name` of these commands turns it off.
pub(super) const fn off_flag(name: &'static str, help: &'static str, commands: &'static [&'static str]) -> Opt {
    given(Flag::Off(name, help), commands).default("true")
}

const fn given(flag: Flag, commands: &'static [&'static str]) -> Opt {
    Opt {
        flag,
        commands,
        ..key()
    }
}

macro_rules! setters {
    ($($field:ident)*) => {$(
        pub(super) const fn $field(mut self, text: &'static str) -> Self {
            self.$field = Some(text);
            self
        }
    )*};
}

impl Opt {
    setters! { brief heading default unset example secret excludes }

    pub(super) const fn words(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    pub(super) const fn study(self) -> Self {
        self.heading(STUDY)
    }

    /// The environment variable for it, such as `SEALCAST_PUBLISH_LISTEN`.
    pub fn variable(&self) -> String {
        format!("SEALCAST_{}_{}", self.section, self.key).to_uppercase()
    }

    /// The value if nothing sets it, as shown to the user.
    pub fn shown_default(&self) -> Option<&'static str> {
        self.default.or(self.unset)
    }

    /// True if the two options cannot be set together.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.rules_out(other) || other.rules_out(self)
    }

    /// True if it names the other as one that cannot be set together with it.
    pub fn rules_out(&self, other: &Self) -> bool {
        self.excludes
            .is_some_and(|key| key == other.path || (self.section, key) == (other.section, other.key))
    }

    /// Parse the text of a flag, a variable or a default.
    ///
    /// # Errors
    /// The reason why the text is no valid value; secrets are left out.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let value = match self.kind {
            Kind::Text | Kind::Length => Value::String(text.to_owned()),
            Kind::Switch => Value::Boolean(match text {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err("it must be true or false".to_owned()),
            }),
            Kind::Number => Value::Integer(text.parse().map_err(|_| "it must be a whole number")?),
            Kind::List => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                Value::Array(words.map(|word| Value::String(word.to_owned())).collect())
            }
            Kind::Tables => return Err("only the configuration file can hold tables".to_owned()),
        };
        (self.accepts)(value.clone()).map_err(|error| redact(&in_words(error.message())).into_owned())?;
        Ok(value)
    }
}

/// The words for what is expected of a value, by the name that the reader of values has for its type.
const EXPECTED: [(&str, &str); 8] = [
    ("a nonzero u32", "a whole number from 1 to 4294967295"),
    ("u64", "a whole number from 0 to 9223372036854775807"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotes"),
    ("path string", "a path in quotes"),
    ("a sequence", "a list in brackets"),
    ("socket address", ADDRESS),
    ("a metrics URL", "a text in quotes"),
];
const ADDRESS: &str = "ADDRESS:PORT, as in 127.0.0.1:9554, with a number for an address";

/// A message about a value of the wrong type, in words for people. Others stay as they are. The value is not repeated:
/// it may be secret.
pub(super) fn in_words(message: &str) -> Cow<'_, str> {
    if message == "invalid socket address syntax" {
        return format!("it must be {ADDRESS}").into();
    }
    let expected = message
        .strip_prefix("invalid ")
        .and_then(|rest| rest.rsplit_once(", expected "));
    let Some((_, expected)) = expected else {
        return message.into();
    };
    let known = EXPECTED.iter().find(|(name, _)| *name == expected);
    format!("it must be {}", known.map_or(expected, |(_, words)| words)).into()
}

/// The word among `valid` that `wrong` was probably meant to be, if any is similar enough.
pub fn nearest<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let wrong = plain(wrong);
    let scored = valid
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(&wrong, &plain(word)), word));
    let (distance, word) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= (word.len() / 3).max(1)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::super::options::OPTIONS;
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_neighbour_and_a_foreign_one_does_not() {
        let valid = ["listen", "suites", "rekey_seconds", "to"];
        assert_eq!(nearest("lisen", valid), Some("listen"));
        assert_eq!(nearest("rekey-second", valid), Some("rekey_seconds"));
        assert_eq!(nearest("Suite", valid), Some("suites"));
        assert_eq!(nearest("colour", valid), None);
        assert_eq!(nearest("listen", []), None);
    }

    #[test]
    fn paths_and_variables_name_section_and_key() {
        let listen = OPTIONS.iter().find(|opt| opt.path == "publish.listen").unwrap();
        assert_eq!(listen.variable(), "SEALCAST_PUBLISH_LISTEN");
        assert_eq!((listen.section, listen.key), ("publish", "listen"));
    }

    #[test]
    fn defaults_and_examples_are_values_of_their_options() {
        for opt in OPTIONS.iter().filter(|opt| opt.kind != Kind::Tables) {
            assert!(opt.example.or(opt.default).is_some(), "{} shows no example", opt.path);
            for text in opt.default.iter().chain(&opt.example) {
                opt.read(text).unwrap_or_else(|why| panic!("{}: {why}", opt.path));
            }
        }
    }

    /// Words of a programmer, in no message about a value.
    pub(crate) const JARGON: [&str; 12] = [
        "u16", "u32", "u64", "i64", "nonzero", "syntax", "digit", "invalid", "parse", "integer", "expected", "serde",
    ];

    #[test]
    fn wrong_values_of_all_options_are_refused_in_words() {
        let mut refused = std::collections::BTreeSet::new();
        for opt in OPTIONS.iter().filter(|opt| opt.kind != Kind::Tables) {
            for wrong in [
                "",
                "0",
                "-1",
                "ten",
                "10x",
                "1.5",
                "99999999999999999999",
                "4294967296",
                "::1",
            ] {
                let Err(why) = opt.read(wrong) else { continue };
                refused.insert(opt.path);
                assert!(
                    !JARGON.iter().any(|word| why.contains(word)),
                    "{} = {wrong}: {why}",
                    opt.path
                );
            }
            // As a file may have it.
            for wrong in [
                Value::Integer(-1),
                Value::Integer(0),
                Value::Boolean(true),
                Value::Float(1.5),
            ] {
                let Err(error) = (opt.accepts)(wrong.clone()) else {
                    continue;
                };
                let why = in_words(error.message());
                assert!(
                    !JARGON.iter().any(|word| why.contains(word)),
                    "{} = {wrong}: {why}",
                    opt.path
                );
            }
        }
        for path in [
            "publish.max_viewers",
            "gateway.rtsp",
            "clock.events",
            "publish.rekey_seconds",
            "publish.encrypt_seed",
        ] {
            assert!(refused.contains(path), "{path} takes everything");
        }
    }

    #[test]
    fn keys_that_are_excluded_and_flags_are_declared_once() {
        for opt in OPTIONS {
            if let Some(key) = opt.excludes {
                assert!(
                    OPTIONS.iter().any(|other| opt.rules_out(other)),
                    "{} excludes {key}",
                    opt.path
                );
            }
            assert_eq!(opt.flag == Flag::None, opt.commands.is_empty(), "{}", opt.path);
            assert_eq!(OPTIONS.iter().filter(|other| other.path == opt.path).count(), 1);
        }
    }
}
