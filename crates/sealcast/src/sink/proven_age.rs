//! How old a group's picture can be (signatures.md, section 6), for sinks that show pictures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::live::{AlarmCause, LivenessState};

/// Takes what is known of the picture's age, as soon as it is known. A session calls it, so it must not wait.
pub type OnAge = Arc<dyn Fn(LivenessState) + Send + Sync>;

/// What was known of the picture's age, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProvenAge {
    state: LivenessState,
    noted: Instant,
}

/// What is shown of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgeShown {
    /// The newest picture is no older.
    AtMost(Duration),
    /// It may be older than it should be.
    Alarm(AlarmCause),
}

impl ProvenAge {
    /// What is known at `noted`.
    pub(super) fn new(state: LivenessState, noted: Instant) -> Self {
        Self { state, noted }
    }

    /// What is to be shown at `now`; nothing before the camera has answered.
    pub(super) fn shown(self, now: Instant) -> Option<AgeShown> {
        match self.state {
            LivenessState::Waiting => None,
            LivenessState::Live { at_most } => Some(AgeShown::AtMost(at_most + (now - self.noted))),
            LivenessState::Alarm(cause) => Some(AgeShown::Alarm(cause)),
        }
    }

    /// True while there is an alarm.
    pub(super) fn is_alarm(self) -> bool {
        matches!(self.state, LivenessState::Alarm(_))
    }
}

/// What an alarm means.
pub(crate) fn alarm_words(cause: AlarmCause) -> &'static str {
    match cause {
        AlarmCause::Freeze => "no frame came that the camera signed",
        AlarmCause::Stale => {
            "frames come, and none answers our challenges: they are late or repeated, or somebody drops the answers"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_nobody_renews_grows_with_time() {
        let noted = Instant::now();
        let later = noted + Duration::from_millis(700);
        let at_most = Duration::from_millis(120);
        let age = ProvenAge::new(LivenessState::Live { at_most }, noted);
        assert_eq!(age.shown(later), Some(AgeShown::AtMost(Duration::from_millis(820))));
        assert_eq!(ProvenAge::new(LivenessState::Waiting, noted).shown(later), None);
        let alarm = ProvenAge::new(LivenessState::Alarm(AlarmCause::Freeze), noted);
        assert_eq!(alarm.shown(later), Some(AgeShown::Alarm(AlarmCause::Freeze)));
        assert!(alarm.is_alarm() && !age.is_alarm());
    }
}
