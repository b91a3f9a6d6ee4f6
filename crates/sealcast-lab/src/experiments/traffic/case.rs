//! Settings, cases and systems, as definitions have them.

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::Random;
use serde::Deserialize;

use super::scene::{Act, Scene};
use crate::harness::Definition;

/// Pictures a second, at most: bins of the attackers are one picture long.
const MAX_RATE: usize = 120;
/// Sides of pictures, in pixels.
const SIDES: std::ops::RangeInclusive<usize> = 64..=1920;
/// Seconds of anything in a scene: it lies on the disk while it plays, 5 MB for a second of 480x272.
const MAX_SECONDS: f64 = 600.0;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Size and rate of scenes, as `480x272@25`.
    pub(super) picture: String,
    /// Options of the source, as `publish` takes them after the file's name and a `?`.
    pub(super) encoding: String,
    /// Seconds at the beginning of each stream in which nothing happens.
    pub(super) lead_seconds: f64,
    /// Seconds of a span, in which one thing happens: a sample of the attackers.
    pub(super) span_seconds: f64,
    /// Seconds at the beginning of a span that are not looked at: what was before has an effect on them.
    pub(super) guard_seconds: f64,
    /// Frames between two changes of what blinks.
    pub(super) between_frames: usize,
    /// Standard deviation of the sensor's noise, in steps of luma.
    pub(super) noise: f64,
}

/// Target of an attack, and its means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Attack {
    /// Does something blink?
    Flicker,
    /// Is somebody there?
    Presence,
    /// Does something happen, and what is it?
    Activity,
    /// Which codec and resolution?
    Sort,
}

/// A case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) attack: Attack,
    /// Carrier on which the publisher listens: `udp`, `tcp` or `quic`.
    pub(super) listen: String,
    /// The profile of the link; empty for loopback.
    #[serde(default)]
    pub(super) link: String,
    /// The sources to be told apart, for `sort`.
    #[serde(default)]
    pub(super) sources: Vec<String>,
}

/// A system: options of the publisher, or no stream at all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct System {
    pub(super) publisher: Vec<String>,
    /// In place of the settings' encoding.
    pub(super) encoding: Option<String>,
    /// True for a trace that is drawn at random and knows nothing of any scene: no attacker may find anything in it.
    pub(super) drawn: bool,
}

/// Sizes and times of a stream, in pixels and frames.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) rate: usize,
    pub(super) lead: usize,
    pub(super) span: usize,
    pub(super) guard: usize,
}

impl Settings {
    /// Reads and checks the settings of a definition.
    ///
    /// # Errors
    /// One is missing or out of range.
    pub(super) fn read(definition: &Definition) -> Result<(Self, Plan)> {
        let settings: Self = definition.settings()?;
        let refused = |what: &str| {
            Failure::new(
                FailureKind::Usage,
                format!("settings: {what}"),
                "correct the definition",
            )
        };
        let picture = picture(&settings.picture).ok_or_else(|| {
            refused("picture is WIDTHxHEIGHT@RATE with even sides from 64 to 1920 and at most 120 a second")
        })?;
        let (width, height, rate) = picture;
        let times = [settings.lead_seconds, settings.span_seconds, settings.guard_seconds];
        if !times.iter().all(|time| (0.0..=MAX_SECONDS).contains(time)) || !(0.0..=50.0).contains(&settings.noise) {
            return Err(refused("times are 0 to 600 seconds, and noise is 0 to 50"));
        }
        let frames = |seconds: f64| (seconds * rate as f64).round() as usize;
        let plan = Plan {
            width,
            height,
            rate,
            lead: frames(settings.lead_seconds),
            span: frames(settings.span_seconds),
            guard: frames(settings.guard_seconds),
        };
        let looked_at = plan.span.saturating_sub(plan.guard);
        if settings.between_frames == 0 || looked_at < 2 * settings.between_frames || plan.lead < rate {
            return Err(refused(
                "a span without its guard holds at least two changes of what blinks, and the lead a second",
            ));
        }
        Ok((settings, plan))
    }

    /// The scene in a stream of this many seconds after its lead, and for `tail` more frames. All systems of a round
    /// show the same.
    pub(super) fn scene(&self, plan: &Plan, attack: Attack, seconds: f64, tail: usize, seed: u64) -> Scene {
        let mut random = Random::new(seed);
        let count = (seconds * plan.rate as f64) as usize / plan.span.max(1);
        let spans = Scene::spans(attack.acts(), plan.lead, plan.span, count, &mut random);
        Scene {
            width: plan.width,
            height: plan.height,
            rate: plan.rate,
            frames: plan.lead + count * plan.span + tail,
            spans,
            between: self.between_frames,
            phase: random.uniform(0..self.between_frames as u64) as usize,
            noise: self.noise,
            seed: random.next_u64(),
        }
    }
}

impl Attack {
    /// Acts in scenes; the first is what is not looked for.
    pub(super) fn acts(self) -> &'static [Act] {
        match self {
            Self::Flicker => &[Act::Still, Act::Flicker],
            Self::Presence => &[Act::Still, Act::Walking],
            Self::Activity => &[Act::Still, Act::Walking, Act::Shake, Act::Light],
            Self::Sort => &[],
        }
    }
}

/// Width, height and rate.
fn picture(words: &str) -> Option<(usize, usize, usize)> {
    let (size, rate) = words.split_once('@')?;
    let (width, height) = size.split_once('x')?;
    let (width, height, rate) = (width.parse().ok()?, height.parse().ok()?, rate.parse().ok()?);
    let fits = |side: usize| SIDES.contains(&side) && side.is_multiple_of(2);
    (fits(width) && fits(height) && (1..=MAX_RATE).contains(&rate)).then_some((width, height, rate))
}

#[cfg(test)]
mod tests {
    use super::super::TRAFFIC;
    use super::*;

    #[test]
    fn all_of_the_definition_can_be_read_and_what_is_out_of_range_is_refused() {
        let mut definition = Definition::parse(TRAFFIC.definition).expect("it is right");
        for case in &definition.cases {
            let case: Case = case.read().expect("a case");
            assert_eq!(case.sources.is_empty(), case.attack != Attack::Sort);
        }
        assert!(definition.systems.iter().all(|system| system.read::<System>().is_ok()));
        Settings::read(&definition).expect("settings");
        for (name, wrong) in [
            ("picture", "481x272@25"),
            ("picture", "480x272"),
            ("picture", "480x272@0"),
        ] {
            let mut other = definition.clone();
            other.settings.insert(name.to_owned(), wrong.into());
            assert!(Settings::read(&other).is_err(), "{wrong}");
        }
        definition.settings.insert("span_seconds".to_owned(), 1.0.into());
        assert!(Settings::read(&definition).is_err());
    }
}
