//! Settings of a comparison: of what, and how.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::pairing::By;
use crate::failure::{Failure, FailureKind, Result};

/// A way to the camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The way with which the others are compared.
    A,
    /// The same once more, in a session of its own, for the control.
    Again,
    /// The other way.
    B,
}

impl Way {
    /// Its name in messages, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Again => "A again",
            Self::B => "B",
        }
    }
}

/// Way in which A is compared with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Two sessions to the same camera.
    Session,
    /// One stream, decoded twice.
    Stream,
}

/// Way in which pictures are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairBy {
    /// In the first of these ways that works.
    #[default]
    Auto,
    /// By the time in the strip of `sealcast clock` or a test card.
    Clock,
    /// By the events of `sealcast clock`: their numbers, or their colours.
    Event,
    /// By what they look like.
    Content,
}

impl FromStr for PairBy {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "clock" => Ok(Self::Clock),
            "event" => Ok(Self::Event),
            "content" => Ok(Self::Content),
            _ => {
                let what = format!("pictures cannot be paired by \"{text}\"");
                Err(Failure::new(
                    FailureKind::Usage,
                    what,
                    "use auto, clock, event or content",
                ))
            }
        }
    }
}

impl PairBy {
    pub(super) fn ways(self) -> Vec<By> {
        match self {
            Self::Auto => By::ALL.to_vec(),
            Self::Clock => vec![By::Clock],
            Self::Event => vec![By::Event, By::Colour],
            Self::Content => vec![By::Content],
        }
    }
}

/// The settings of a comparison.
pub struct BesideOptions {
    /// A and B as messages name them, without secrets.
    pub names: [String; 2],
    /// Way in which pictures are paired.
    pub pair_by: PairBy,
    /// Tell when B is later than A by more than this, or one of them stands still for longer.
    pub alarm: Option<Duration>,
    /// Folder for the log.
    pub log_dir: Option<PathBuf>,
    /// Program file of the decoders, if not this program: for tests, which are other programs.
    pub program: Option<PathBuf>,
}
