//! How a command fails: one sentence on what happened, one on what to do, and an exit code.

use std::fmt;

/// What kind of thing went wrong. Each kind has its own exit code, listed in `docs/exit-codes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A defect of sealcast itself. Exit code 1.
    Internal,
    /// The command line does not make sense. Exit code 2.
    Usage,
    /// The source cannot be opened, read or understood. Exit code 3.
    Source,
    /// The sink cannot be written. Exit code 4.
    Sink,
    /// The network: an address cannot be reached or bound, a peer is gone. Exit code 5.
    Network,
    /// A peer is not who it should be, or does not let us in. Exit code 6.
    Refused,
    /// An identity, ticket or allow-list file cannot be used. Exit code 7.
    Keys,
    /// The configuration file is wrong. Exit code 8.
    Config,
    /// A limit of the protocol ended the stream. Exit code 9.
    Limit,
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
        }
    }
}

/// A failure in words: `what` happened, to which peer or file, and what to do next.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind, for the exit code.
    pub kind: FailureKind,
    /// What happened, naming the peer or file. No full stop at the end.
    pub what: String,
    /// What the user can do about it. No full stop at the end.
    pub hint: String,
}

impl Failure {
    /// A failure of `kind`: `what` happened; `hint` says what to do.
    pub fn new(kind: FailureKind, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.hint)
    }
}

impl std::error::Error for Failure {}

/// What every fallible step of the program returns.
pub type Result<T, E = Failure> = std::result::Result<T, E>;
