//! Age that a group's picture can have, and whether its proofs come (signatures.md, sections 5 and 6), for sinks that
//! show pictures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::live::{AlarmCause, LivenessState};

/// Knowledge of a group's picture.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Age that it can have.
    pub age: LivenessState,
    /// True while the signatures of groups of pictures are missing.
    pub unproven: bool,
    /// True if pictures are shown before the camera has answered: the user wants it so.
    pub without_session: bool,
}

/// Takes what is known of the picture, as soon as it is known. A session calls it, so it must not wait.
pub type OnAge = Arc<dyn Fn(Standing) + Send + Sync>;

/// Standing of the picture, and when it was known.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProvenAge {
    standing: Standing,
    noted: Instant,
}

/// Age as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgeShown {
    /// The newest picture is no older.
    AtMost(Duration),
    /// It may be older than it should be.
    Alarm(AlarmCause),
    /// It may be of any age: the camera has not answered.
    Unknown,
}

impl ProvenAge {
    /// Standing that was known at `noted`.
    pub(super) fn new(standing: Standing, noted: Instant) -> Self {
        Self { standing, noted }
    }

    /// Returns what is to be shown at `now`; nothing before the camera has answered, unless the picture is shown all
    /// the same.
    pub(super) fn shown(self, now: Instant) -> Option<AgeShown> {
        match self.standing.age {
            LivenessState::Waiting => self.standing.without_session.then_some(AgeShown::Unknown),
            LivenessState::Live { at_most } => Some(AgeShown::AtMost(at_most + (now - self.noted))),
            LivenessState::Alarm(cause) => Some(AgeShown::Alarm(cause)),
        }
    }

    /// True while signatures of groups of pictures are missing.
    pub(super) fn is_unproven(self) -> bool {
        self.standing.unproven
    }

    /// True while there is an alarm.
    pub(super) fn is_alarm(self) -> bool {
        let old = match self.standing.age {
            LivenessState::Waiting => self.standing.without_session,
            LivenessState::Live { .. } => false,
            LivenessState::Alarm(_) => true,
        };
        old || self.is_unproven()
    }

    /// All alarms in words.
    pub(super) fn alarms(self) -> Option<String> {
        let old = match self.standing.age {
            LivenessState::Alarm(cause) => Some(format!("the picture may be old: {}", alarm_words(cause))),
            LivenessState::Waiting => self.standing.without_session.then(|| WITHOUT_SESSION.to_owned()),
            LivenessState::Live { .. } => None,
        };
        let unproven = self.is_unproven().then(|| UNPROVEN.to_owned());
        let all: Vec<String> = old.into_iter().chain(unproven).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Meaning of pictures that are shown before the camera has answered.
pub(crate) const WITHOUT_SESSION: &str =
    "the picture may be old: it is shown with --without-session, and the camera has not answered";

/// Meaning of missing signatures.
pub(crate) const UNPROVEN: &str = "pictures are shown without the proof that holds against quantum computers: the \
                                   signatures of their groups do not come";

/// Meaning of an alarm.
pub(crate) fn alarm_words(cause: AlarmCause) -> &'static str {
    match cause {
        AlarmCause::Freeze => "no frame came that the camera signed",
        AlarmCause::Stale => {
            "frames come, and none answers our challenges: they are late or repeated, or the answers get lost"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(age: LivenessState, unproven: bool, noted: Instant) -> ProvenAge {
        let standing = Standing {
            age,
            unproven,
            without_session: false,
        };
        ProvenAge::new(standing, noted)
    }

    #[test]
    fn what_is_shown_without_an_answer_is_marked_until_there_is_one() {
        let now = Instant::now();
        let live = LivenessState::Live {
            at_most: Duration::ZERO,
        };
        let standing = |age| Standing {
            age,
            unproven: false,
            without_session: true,
        };
        let waits = ProvenAge::new(standing(LivenessState::Waiting), now);
        assert_eq!(waits.shown(now), Some(AgeShown::Unknown));
        assert!(waits.is_alarm() && waits.alarms().is_some_and(|words| words.contains("--without-session")));
        let answered = ProvenAge::new(standing(live), now);
        assert_eq!(answered.shown(now), Some(AgeShown::AtMost(Duration::ZERO)));
        assert!(!answered.is_alarm() && answered.alarms().is_none());
    }

    #[test]
    fn a_bound_that_nobody_renews_grows_with_time() {
        let now = Instant::now();
        let later = now + Duration::from_millis(700);
        let at_most = Duration::from_millis(120);
        let age = noted(LivenessState::Live { at_most }, false, now);
        assert_eq!(age.shown(later), Some(AgeShown::AtMost(Duration::from_millis(820))));
        assert_eq!(noted(LivenessState::Waiting, false, now).shown(later), None);
        let alarm = noted(LivenessState::Alarm(AlarmCause::Freeze), false, now);
        assert_eq!(alarm.shown(later), Some(AgeShown::Alarm(AlarmCause::Freeze)));
        assert!(alarm.is_alarm() && !age.is_alarm());
    }

    #[test]
    fn an_alarm_says_what_is_wrong_with_age_and_with_proofs() {
        let (live, old) = (
            LivenessState::Live {
                at_most: Duration::ZERO,
            },
            LivenessState::Alarm(AlarmCause::Freeze),
        );
        for (age, unproven, words) in [
            (live, false, &[][..]),
            (old, false, &["may be old: no frame came"]),
            (live, true, &["signatures of their groups do not come"]),
            (old, true, &["may be old", "do not come"]),
        ] {
            let standing = noted(age, unproven, Instant::now());
            let said = standing.alarms().unwrap_or_default();
            assert_eq!(standing.is_alarm(), !words.is_empty());
            assert_eq!(said.is_empty(), words.is_empty());
            assert!(words.iter().all(|words| said.contains(words)), "{said}");
        }
    }
}
