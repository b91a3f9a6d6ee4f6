//! Frames that a viewer shows before they are proved, in mode `tesla`: what its log says of them.

use std::time::Duration;

use sealcast_proto::sign::{TeslaNews, Unprovable};

use crate::meter::labels::TeslaOutcome;
use crate::meter::metrics::Metrics;

/// Follows what becomes of the frames of a session, or of relays. Says at the end how many were not proved.
#[derive(Default)]
pub(super) struct Unproved {
    /// Frames that wait for their keys.
    waiting: u64,
    proved: u64,
    forged: u64,
    /// Frames that nothing will prove.
    unprovable: u64,
    /// What was missing, as the log said it last.
    missing: Option<Unprovable>,
}

impl Unproved {
    /// Notes what became of a frame.
    pub(super) fn note(&mut self, news: TeslaNews, metrics: &Metrics) {
        match news {
            TeslaNews::Waits => {
                self.waiting += 1;
                metrics.tesla(TeslaOutcome::Shown);
            }
            TeslaNews::Proved { after, .. } => self.proved(after, metrics),
            TeslaNews::Forged(statement) => {
                self.waiting = self.waiting.saturating_sub(1);
                self.forged += 1;
                metrics.tesla(TeslaOutcome::Forged);
                let (frame, total) = (statement.frame, self.forged);
                tracing::error!(
                    frame,
                    total,
                    "a picture was shown that is not the camera's: somebody in the group forges it. Nothing is shown \
                     until the next keyframe"
                );
            }
            TeslaNews::Unprovable(why) => self.unprovable(why, metrics),
        }
    }

    fn proved(&mut self, after: Duration, metrics: &Metrics) {
        self.waiting = self.waiting.saturating_sub(1);
        metrics.tesla_proved(after);
        if self.proved == 0 || self.missing.is_some() {
            let millis = after.as_millis();
            tracing::info!("pictures are shown at once, and proved {millis} ms later");
            self.missing = None;
        }
        self.proved += 1;
    }

    fn unprovable(&mut self, why: Unprovable, metrics: &Metrics) {
        self.unprovable += 1;
        metrics.tesla(match why {
            Unprovable::NoClock => TeslaOutcome::NoClock,
            Unprovable::NoChain => TeslaOutcome::NoChain,
            Unprovable::KeyLost => TeslaOutcome::KeyLost,
        });
        if why == Unprovable::KeyLost {
            self.waiting = self.waiting.saturating_sub(1);
        }
        if self.missing.replace(why) != Some(why) {
            tracing::warn!("pictures are shown and not proved: {}", words(why));
        }
    }
}

impl Drop for Unproved {
    fn drop(&mut self) {
        let Self {
            waiting,
            proved,
            forged,
            unprovable,
            ..
        } = *self;
        if waiting + proved + forged + unprovable > 0 {
            let unproved = waiting + unprovable;
            tracing::info!(proved, forged, unproved, "what became of the pictures that were shown");
        }
    }
}

fn words(why: Unprovable) -> &'static str {
    match why {
        Unprovable::NoClock => {
            "nothing is known of the camera's clock, which only a session with the camera itself tells"
        }
        Unprovable::NoChain => "the camera's commitment to its keys has not come",
        Unprovable::KeyLost => "their keys were lost on the way",
    }
}
