//! The flags of the declared options. Each command has the flags of the options that name the command.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Result;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use toml::Value;

use crate::config::option::{Flag, Kind, Opt};
use crate::config::options::OPTIONS;

/// The options set on the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Flags(Vec<(&'static Opt, Value)>);

impl Flags {
    /// The values set, which override file and environment.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'static Opt, Value)> {
        self.0.iter().cloned()
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let name = command.get_name().to_owned();
        let taken: Vec<&Opt> = OPTIONS
            .iter()
            .filter(|opt| opt.commands.contains(&name.as_str()))
            .collect();
        taken.iter().fold(command, |command, opt| {
            let others = taken.iter().filter(|other| opt.conflicts_with(other));
            command.arg(argument(opt).conflicts_with_all(others.map(|other| other.path)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self> {
        let set = OPTIONS.iter().filter_map(|opt| Some((opt, value(opt, matches)?)));
        Ok(Self(set.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<()> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(opt: &'static Opt) -> Arg {
    let arg = Arg::new(opt.path);
    let valued = |arg: Arg, value: &'static str| {
        let action = match opt.kind {
            Kind::List => ArgAction::Append,
            _ => ArgAction::Set,
        };
        let arg = arg.value_name(value).value_parser(OptParser(opt)).action(action);
        arg.value_hint(hint(value)).hide_possible_values(true)
    };
    let arg = match opt.flag {
        Flag::Positional(value) => valued(arg, value),
        Flag::Value(name, value) => valued(arg.long(name), value),
        Flag::On(name) | Flag::Off(name, _) => arg.long(name).action(ArgAction::SetTrue),
        Flag::None => unreachable!("no command takes it"),
    };
    let meaning = match opt.flag {
        Flag::Off(_, meaning) => meaning,
        _ => opt.help,
    };
    let arg = arg
        .help(with_default(
            opt.brief.unwrap_or(meaning),
            opt.default.filter(|_| is_valued(opt)),
        ))
        .long_help(with_default(meaning, opt.shown_default().filter(|_| is_valued(opt))))
        .hide_short_help(opt.brief.is_none());
    match opt.heading {
        Some(heading) => arg.help_heading(heading),
        None => arg,
    }
}

fn is_valued(opt: &Opt) -> bool {
    matches!(opt.flag, Flag::Positional(_) | Flag::Value(..))
}

fn with_default(meaning: &str, default: Option<&str>) -> String {
    match default {
        None | Some("") => meaning.to_owned(),
        Some(default) => format!("{meaning} [default: {default}]"),
    }
}

/// Hint at what a shell completes for a value of this name.
fn hint(value: &str) -> ValueHint {
    match value {
        "FILE" | "PATH" => ValueHint::FilePath,
        "DIR" => ValueHint::DirPath,
        _ => ValueHint::Other,
    }
}

/// Reads an option's value, and tells shells the words that it may be.
#[derive(Clone)]
struct OptParser(&'static Opt);

impl TypedValueParser for OptParser {
    type Value = Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Value> {
        let opt = self.0;
        (move |text: &str| opt.read(text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.0.words;
        (!words.is_empty()).then(|| Box::new(words.iter().map(PossibleValue::new)) as Box<_>)
    }
}

/// The value of an option, if the command has it and it was given. The items of a list may be spread over several
/// flags.
fn value(opt: &Opt, matches: &ArgMatches) -> Option<Value> {
    if let Flag::On(_) | Flag::Off(..) = opt.flag {
        let given = matches.try_get_one::<bool>(opt.path).ok()??;
        return given.then_some(Value::Boolean(matches!(opt.flag, Flag::On(_))));
    }
    let mut values = matches.try_get_many::<Value>(opt.path).ok()??.cloned();
    match opt.kind {
        Kind::List => Some(Value::Array(
            values
                .filter_map(|list| list.try_into::<Vec<Value>>().ok())
                .flatten()
                .collect(),
        )),
        _ => values.next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(command: &'static str, words: &[&str]) -> Result<Vec<(String, String)>> {
        let command = Flags::augment_args(Command::new(command).no_binary_name(true));
        let flags = Flags::from_arg_matches(&command.try_get_matches_from(words)?)?;
        let shown = |(opt, value): (&Opt, Value)| (opt.path.to_owned(), value.to_string());
        Ok(flags.values().map(shown).collect())
    }

    fn one(path: &str, value: &str) -> Vec<(String, String)> {
        vec![(path.to_owned(), value.to_owned())]
    }

    #[test]
    fn a_command_takes_the_options_that_name_it_and_reads_them_by_their_kind() {
        for (words, path, value) in [
            (&["--max-viewers", "3"][..], "publish.max_viewers", "3"),
            (&["test:"], "publish.source", "\"test:\""),
            (&["--no-invite"], "publish.invite", "false"),
            (&["--open"], "publish.open", "true"),
            (
                &["--suite", "a,b", "--suite", "c"],
                "session.suites",
                "[\"a\", \"b\", \"c\"]",
            ),
        ] {
            assert_eq!(flags("publish", words).unwrap(), one(path, value));
        }
        assert_eq!(flags("publish", &[]).unwrap(), []);
        assert!(flags("watch", &["--max-viewers", "3"]).is_err());
        assert_eq!(flags("watch", &["x"]).unwrap(), one("watch.ticket", "\"x\""));
    }

    #[test]
    fn values_that_are_none_and_flags_that_exclude_each_other_are_refused() {
        assert!(flags("publish", &["--max-viewers", "0"]).is_err());
        assert!(flags("publish", &["--metrics", "here"]).is_err());
        assert!(flags("publish", &["--to", "a", "--listen", "b"]).is_err());
    }

    #[test]
    fn every_flag_is_of_a_command_that_there_is() {
        use clap::CommandFactory as _;
        let program = super::super::args::Arguments::command();
        let groups = ["gateway", "archive"].map(|group| program.find_subcommand(group).unwrap());
        for name in OPTIONS.iter().flat_map(|opt| opt.commands) {
            let mut within = groups.iter().map(|group| group.find_subcommand(name));
            let found = program.find_subcommand(name).is_some() || within.any(|found| found.is_some());
            assert!(found, "no command is called {name}");
        }
        program.debug_assert();
    }
}
