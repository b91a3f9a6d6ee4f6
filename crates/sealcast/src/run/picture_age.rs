//! How old the picture of a group's viewer can be: what its log says of it.

use std::time::Duration;

use sealcast_proto::live::{AlarmCause, LivenessState};

use crate::meter::metrics::Metrics;

/// Follows what the session knows of the picture's age.
#[derive(Default)]
pub(super) struct PictureAge {
    alarmed: bool,
}

impl PictureAge {
    /// Notes what is known now. The beginning and the end of an alarm are logged.
    pub(super) fn note(&mut self, state: LivenessState, metrics: &Metrics) {
        match state {
            LivenessState::Waiting => {}
            LivenessState::Live { at_most } => {
                metrics.picture_age(at_most.as_secs_f64());
                if std::mem::replace(&mut self.alarmed, false) {
                    tracing::info!("the picture is live again: at most {} old", millis(at_most));
                }
            }
            LivenessState::Alarm(cause) => {
                metrics.picture_age(f64::INFINITY);
                if !std::mem::replace(&mut self.alarmed, true) {
                    tracing::warn!("the picture may be old: {}", words(cause));
                }
            }
        }
    }
}

fn millis(age: Duration) -> String {
    format!("{} ms", age.as_millis())
}

fn words(cause: AlarmCause) -> &'static str {
    match cause {
        AlarmCause::Freeze => "no frame came that the camera signed",
        AlarmCause::Stale => {
            "frames come, and none answers our challenges: they are late or repeated, or somebody drops the answers"
        }
    }
}
