//! How old the picture of a group's viewer can be: what its log says of it.

use std::time::Duration;

use sealcast_proto::live::LivenessState;

use crate::meter::metrics::Metrics;
use crate::sink::{OnAge, alarm_words};

/// Follows what the session knows of the picture's age.
#[derive(Default)]
pub(super) struct PictureAge {
    alarmed: bool,
    /// Who shows it.
    shows: Option<OnAge>,
}

impl PictureAge {
    /// One that is shown as well.
    pub(super) fn shown_by(shows: Option<OnAge>) -> Self {
        Self { alarmed: false, shows }
    }

    /// Notes what is known now. The beginning and the end of an alarm are logged.
    pub(super) fn note(&mut self, state: LivenessState, metrics: &Metrics) {
        if let Some(show) = &self.shows {
            show(state);
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

fn millis(age: Duration) -> String {
    format!("{} ms", age.as_millis())
}
