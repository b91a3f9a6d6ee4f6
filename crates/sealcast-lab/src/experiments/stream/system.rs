//! Cases and systems of experiments on streams, as definitions have them.

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::ends::Viewer;
use crate::harness::Entry;

/// The suite that seals a stream: one that protects, or a study suite.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Suite {
    Suite { suite: String },
    Study { study: String },
}

impl Suite {
    /// The options of both ends that choose it.
    pub(crate) fn options(&self) -> Vec<String> {
        match self {
            Self::Suite { suite } => vec!["--suite".to_owned(), suite.clone()],
            Self::Study { study } => vec!["--insecure-study-suite".to_owned(), study.clone()],
        }
    }
}

/// Under which circumstances a stream is measured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Case {
    /// Carrier on which the publisher listens, and its options after a `?`.
    pub(super) listen: String,
    /// The profile of the link; empty for loopback.
    pub(super) link: String,
    /// True if the link is between two network namespaces, with a TCP of its own end to end, and not in a proxy. Needs
    /// root and a TUN device.
    pub(super) namespaces: bool,
    /// The TCP congestion control in the namespaces; the kernel's default if empty.
    pub(super) congestion_control: String,
    /// The test card as `publish` takes it, in place of the settings' source.
    pub(super) card: String,
    /// Size and rate of a clip that is encoded beforehand and passed through, such as `1280x720@30`.
    pub(super) clip: String,
}

/// System that is compared.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct System {
    suite: Option<String>,
    study: Option<String>,
    /// Options of the publisher alone.
    pub(super) publisher: Vec<String>,
    /// In place of the case's.
    pub(super) own_listen: Option<String>,
    pub(super) own_link: Option<String>,
    pub(super) viewer: Viewer,
    /// Without the processor's instructions for AES and GCM.
    pub(super) without_aes: bool,
    /// The cases in which it is measured; all if none is named.
    pub(super) cases: Vec<String>,
}

impl System {
    /// Reads a system of a definition.
    ///
    /// # Errors
    /// It is not of this form, or names no suite, or two.
    pub(super) fn read(entry: &Entry) -> Result<(Self, Suite)> {
        let system: Self = entry.read()?;
        let suite = match (&system.suite, &system.study) {
            (Some(suite), None) => Suite::Suite { suite: suite.clone() },
            (None, Some(study)) => Suite::Study { study: study.clone() },
            _ => {
                let what = format!("`{}` must have either `suite` or `study`", entry.name);
                return Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
            }
        };
        Ok((system, suite))
    }

    /// True if it is measured in the case of this name.
    pub(super) fn suits(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|name| name == case)
    }
}
