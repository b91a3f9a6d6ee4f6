//! Cases, systems and settings of the experiment, as definitions have them.

use std::collections::BTreeMap;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::{LinkProfile, Loss};
use serde::Deserialize;

use super::camera::Codec;
use crate::experiments::glass::Pictures;
use crate::experiments::stream::{Suite, profile};
use crate::harness::{Definition, Entry};
use crate::proxy::Links;

/// Settings of the experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The camera's pictures.
    pub(super) camera: Pictures,
    /// Quality of the camera's JPEG pictures, 0 to 100.
    pub(super) jpeg_quality: u32,
    /// The link of cases that name none: one of `profiles`.
    pub(super) profile: String,
    /// Profiles by name.
    pub(super) profiles: BTreeMap<String, String>,
    /// Seconds after the first frame that do not count.
    pub(super) warm_up_seconds: f64,
}

impl Settings {
    pub(super) fn read(definition: &Definition) -> Result<Self> {
        let settings: Self = definition.settings()?;
        for (name, words) in &settings.profiles {
            profile(name, words)?;
        }
        let wrong = |what: String| Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
        if !settings.profiles.contains_key(&settings.profile) {
            let known: Vec<&str> = settings.profiles.keys().map(String::as_str).collect();
            let what = format!("there is no profile `{}`", settings.profile);
            let hint = format!("choose among {}", known.join(", "));
            return Err(Failure::new(FailureKind::Usage, what, hint));
        }
        if settings.jpeg_quality > 100 || !(0.0..=3600.0).contains(&settings.warm_up_seconds) {
            return wrong("settings: a quality is 0 to 100, and a warm-up 0 to 3600 seconds".to_owned());
        }
        Ok(settings)
    }
}

/// The path that is measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "path", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Case {
    /// A camera behind a pair of gateways.
    Gateways(Gateways),
    /// A session between `publish` and `probe`.
    Session(Session),
}

/// A camera behind a pair of gateways.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Gateways {
    pub(super) codec: Codec,
    /// Of all three hops: `tcp` or `udp`.
    pub(super) carrier: String,
    /// Bytes that are sealed together, which the papers call length of the string.
    pub(super) chunk: u32,
    /// Profile of the link towards the viewer gateway, in place of the one in the settings.
    #[serde(default)]
    pub(super) down: String,
    /// The same of the opposite direction.
    #[serde(default)]
    pub(super) up: String,
    /// Share of a processor that the viewer gateway may use, in percent; 0 for all of it.
    #[serde(default)]
    pub(super) cpu_percent: u32,
}

/// A session.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Session {
    /// Source that `publish` reads.
    pub(super) source: String,
    /// The part that it encrypts.
    pub(super) encrypt: String,
    /// One of the profiles.
    pub(super) profile: String,
}

/// System that carries the video.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct System {
    /// The suite between the gateways; without one, the viewer watches the camera itself.
    #[serde(default)]
    suite: Option<String>,
    #[serde(default)]
    study: Option<String>,
    /// Cases in which it is measured; all if none is named.
    #[serde(default)]
    cases: Vec<String>,
}

impl System {
    /// The suite; `None` without gateways.
    pub(super) fn suite(&self) -> Option<Suite> {
        let suite = self.suite.clone().map(|suite| Suite::Suite { suite });
        suite.or_else(|| self.study.clone().map(|study| Suite::Study { study }))
    }

    /// True if it is measured in the case of this name.
    pub(super) fn suits(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|name| name == case)
    }
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// It is not of this form, or names an unknown carrier or profile.
    pub(super) fn read(entry: &Entry, settings: &Settings) -> Result<Self> {
        let case: Self = entry.read()?;
        let wrong = |what: String| Failure::new(FailureKind::Usage, what, "correct the definition");
        match &case {
            Self::Gateways(gateways) => {
                if !["tcp", "udp"].contains(&gateways.carrier.as_str()) {
                    let what = format!(
                        "`{}`: the carrier `{}` is neither tcp nor udp",
                        entry.name, gateways.carrier
                    );
                    return Err(wrong(what));
                }
                if gateways.cpu_percent > 100 {
                    return Err(wrong(format!("`{}`: cpu_percent is above 100", entry.name)));
                }
                gateways.links(settings, 0)?;
            }
            Self::Session(session) => drop(session.link(settings)?),
        }
        Ok(case)
    }
}

impl Gateways {
    /// The link between the gateways. On a byte stream no packet is lost; see the method.
    pub(super) fn links(&self, settings: &Settings, seed: u64) -> Result<Links> {
        let common = &settings.profiles[&settings.profile];
        let of = |own: &str| -> Result<LinkProfile> {
            let words = if own.is_empty() { common } else { own };
            let mut link = profile("the link", words)?.unwrap_or_default();
            if self.carrier == "tcp" {
                link.loss = Loss::None;
            }
            Ok(link)
        };
        Ok(Links {
            // The viewer gateway connects, so what it receives comes down.
            up: of(&self.up)?,
            down: of(&self.down)?,
            seed,
            tap: None,
        })
    }
}

impl Session {
    pub(super) fn link(&self, settings: &Settings) -> Result<Option<LinkProfile>> {
        let words = settings.profiles.get(&self.profile).ok_or_else(|| {
            let what = format!("there is no profile `{}`", self.profile);
            Failure::new(FailureKind::Usage, what, "name one of the settings")
        })?;
        profile(&self.profile, words)
    }
}
