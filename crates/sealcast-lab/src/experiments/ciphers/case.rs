//! The cases and settings of a definition, as the engine reads them.

use std::path::PathBuf;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use crate::harness::Definition;

/// Subject of the measurements of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Case {
    /// Packets of one length.
    Packets {
        /// Their length.
        bytes: usize,
    },
    /// Frames of video.
    Frames {
        /// Their coding.
        codec: Coding,
    },
    /// Algorithm, key and IV set-up, and one block.
    SetUp {},
    /// Packets with the processor's instructions for a cipher and without them.
    Instructions {},
}

/// The coding of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Coding {
    /// A camera's video, by which the papers compare ciphers: memory and Rank belong to it.
    H264,
    Jpeg,
    /// I420, 640x480.
    Raw,
}

/// The definition's settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Path of the clip to take frames from; the test card if empty.
    clip: String,
    /// The energy meter, as with `--meter`.
    pub(super) meter: String,
    /// The cases in which energy is measured.
    pub(super) metered: Vec<String>,
    /// Work time while the meter is read, and idle time before and after.
    energy_seconds: f64,
    idle_seconds: f64,
    /// An implementation that takes longer for a single packet in the first round is not measured on that load.
    patience_seconds: f64,
    /// Keys per second that an attacker tries by brute force.
    pub(super) guesses_per_second: f64,
}

impl Settings {
    /// # Errors
    /// A setting is missing, unknown or out of its range.
    pub(super) fn read(definition: &Definition) -> Result<Self> {
        let settings: Self = definition.settings()?;
        let times = [
            settings.energy_seconds,
            settings.idle_seconds,
            settings.patience_seconds,
        ];
        if !times.iter().all(|time| (0.001..=3600.0).contains(time)) || settings.guesses_per_second < 1.0 {
            let what = "settings: times are 0.001 to 3600 seconds, and guesses_per_second is at least 1";
            return Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
        }
        Ok(settings)
    }

    pub(super) fn clip(&self) -> Option<PathBuf> {
        (!self.clip.is_empty()).then(|| PathBuf::from(&self.clip))
    }

    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.patience_seconds)
    }

    /// Work time and idle time of a measurement of energy.
    pub(super) fn energy_times(&self) -> (Duration, Duration) {
        let times = [self.energy_seconds, self.idle_seconds].map(Duration::from_secs_f64);
        (times[0], times[1])
    }
}
