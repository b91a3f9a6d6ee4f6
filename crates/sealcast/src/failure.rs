//! Failures of commands: a sentence about the problem, a sentence about the remedy, and an exit code.

use std::fmt;

use sealcast_proto::words::plain;

/// The kind of a failure. Each kind has its own exit code, listed in `docs/exit-codes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A defect of sealcast itself. Exit code 1.
    Internal,
    /// The command line is invalid. Exit code 2.
    Usage,
    /// The source cannot be opened, read or understood. Exit code 3.
    Source,
    /// The sink cannot be written. Exit code 4.
    Sink,
    /// A network error: an address cannot be reached or bound, or a peer is gone. Exit code 5.
    Network,
    /// A peer has an unexpected identity, or it does not admit us. Exit code 6.
    Refused,
    /// An identity, ticket or allow-list file cannot be used. Exit code 7.
    Keys,
    /// The configuration file is wrong. Exit code 8.
    Config,
    /// A limit of the protocol ended the stream. Exit code 9.
    Limit,
    /// An event of which the user asked to be told has happened. Exit code 10.
    Alarm,
}

impl FailureKind {
    /// The process exit code of this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Source => 3,
            Self::Sink => 4,
            Self::Network => 5,
            Self::Refused => 6,
            Self::Keys => 7,
            Self::Config => 8,
            Self::Limit => 9,
            Self::Alarm => 10,
        }
    }
}

/// Fault of a source, as far as it decides how it is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceFault {
    /// Nothing answers at its address.
    Unreachable,
    /// It answers, and has no such stream: RTSP status 404.
    NoSuchStream,
    /// Anything else.
    #[default]
    Other,
}

/// A failure as shown to the user: the problem, the peer or file concerned, and the next step.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind, for the exit code.
    pub kind: FailureKind,
    /// The problem, naming the peer or file. No full stop at the end.
    pub what: String,
    /// The remedy open to the user. No full stop at the end.
    pub hint: String,
    /// Of a source: what is wrong with it.
    pub fault: SourceFault,
}

impl Failure {
    /// A failure of `kind`: `what` is the problem, `hint` the remedy. Both may repeat words of peers, of children and
    /// of files, so they are made [plain]. The system's numbers of errors, which stand behind its words, are left out,
    /// and some of its words are put into others.
    pub fn new(kind: FailureKind, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            what: for_people(&plain(&what.into())),
            hint: for_people(&plain(&hint.into())),
            fault: SourceFault::Other,
        }
    }

    /// The same failure, of a source of which this is wrong.
    #[must_use]
    pub fn of_source(self, fault: SourceFault) -> Self {
        Self { fault, ..self }
    }
}

/// Words of the system and of the standard library, and those that people know.
const WORDS: [(&str, &str); 3] = [
    ("failed to lookup address information: ", ""),
    ("entity not found", "there is no such file or folder"),
    ("No such file or directory", "there is no such file or folder"),
];

/// A text with the system's words as people know them, and without its numbers.
fn for_people(text: &str) -> String {
    let known = |text: String, (theirs, ours): &(&str, &str)| text.replace(theirs, ours);
    WORDS.iter().fold(without_numbers(text), known)
}

/// `text` without each ` (os error N)`.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => shown.push_str(rest),
            _ => {
                shown.push_str(" (os error ");
                shown.push_str(part);
            }
        }
    }
    shown
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.hint)
    }
}

impl std::error::Error for Failure {}

/// The result of every fallible step of the program.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_system_are_repeated_and_its_numbers_are_not() {
        for (said, shown) in [
            (
                "it failed: Connection refused (os error 111)",
                "it failed: Connection refused",
            ),
            ("a (No such file (os error 2)), b (os error 13)", "a (No such file), b"),
            ("a (os error x) b", "a (os error x) b"),
            (
                "a: failed to lookup address information: Name or service not known",
                "a: Name or service not known",
            ),
            ("a: entity not found", "a: there is no such file or folder"),
            ("none", "none"),
        ] {
            assert_eq!(
                Failure::new(FailureKind::Network, said, said).to_string(),
                format!("{shown}; {shown}")
            );
        }
    }
}
