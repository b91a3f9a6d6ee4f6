//! Age that the picture of a group's viewer can have, and whether its proofs come: what its log says of it.

use std::time::Duration;

use sealcast_proto::live::LivenessState;
use sealcast_proto::sign::ProofState;

use crate::meter::metrics::Metrics;
use crate::sink::{OnAge, Standing, UNPROVEN, alarm_words};

/// Follows what the session knows of the picture's age, and of its proofs.
#[derive(Default)]
pub(crate) struct PictureAge {
    alarmed: bool,
    /// Last known state of proofs.
    proofs: Option<ProofState>,
    /// Function that shows it.
    shows: Option<OnAge>,
    /// Pictures are shown before the camera has answered.
    without_session: bool,
}

impl PictureAge {
    /// One that is shown as well.
    pub(crate) fn shown_by(shows: Option<OnAge>) -> Self {
        Self {
            shows,
            ..Self::default()
        }
    }

    /// From here on, pictures are shown before the camera has answered.
    pub(crate) fn without_session(&mut self) {
        self.without_session = true;
    }

    /// Notes what is known now: nothing if the camera signs no frames. Logs the beginning and the end of an alarm.
    pub(crate) fn note(&mut self, state: Option<LivenessState>, metrics: &Metrics) {
        let nothing = self.without_session.then_some(LivenessState::Waiting);
        let Some(state) = state.or(nothing) else { return };
        if let Some(show) = &self.shows {
            let unproven = self.proofs.is_some_and(|proofs| proofs.missing);
            show(Standing {
                age: state,
                unproven,
                without_session: self.without_session,
            });
        }
        match state {
            // Nothing is known, so it may be any age.
            LivenessState::Waiting => metrics.picture_age(f64::INFINITY),
            LivenessState::Live { at_most } => {
                metrics.picture_age(at_most.as_secs_f64());
                if std::mem::replace(&mut self.alarmed, false) {
                    tracing::info!("the picture is live again: at most {} old", millis(at_most));
                }
            }
            LivenessState::Alarm(cause) => {
                metrics.picture_age(f64::INFINITY);
                if !std::mem::replace(&mut self.alarmed, true) {
                    tracing::warn!("the picture may be old: {}", alarm_words(cause));
                }
            }
        }
    }
}

impl PictureAge {
    /// Notes how far the signatures of groups of pictures have come. To be told before the age.
    pub(crate) fn note_proofs(&mut self, proofs: ProofState, metrics: &Metrics) {
        if self.proofs == Some(proofs) {
            return;
        }
        let before = self.proofs.replace(proofs).unwrap_or_default();
        metrics.proofs(before.counts, proofs);
        let unproven = proofs.counts.unproven;
        match (before.missing, proofs.missing) {
            (false, true) => tracing::warn!(unproven, "{UNPROVEN}"),
            (true, false) => tracing::info!(unproven, "the signatures of groups of pictures come again"),
            (true, true) | (false, false) => {}
        }
    }
}

fn millis(age: Duration) -> String {
    format!("{} ms", age.as_millis())
}
