//! Age of a member's picture at most: its challenges, at the pace of the camera's groups of pictures.

use std::time::Duration;

use super::{Answer, CHALLENGE_LEN, Challenge, Liveness, LivenessConfig, LivenessState};
use crate::sign::Verified;

/// Duration of a group of pictures while none is known.
const GROUP: Duration = Duration::from_secs(1);

/// [`Liveness`] of one stream, which measures the stream's groups of pictures itself. Times are those of the caller's
/// monotonic clock.
pub struct PictureAge {
    live: Liveness,
    /// When the last group of pictures began.
    began: Option<Duration>,
    group: Duration,
}

impl PictureAge {
    /// Begins with a challenge that is due at once. `round_trip` is that of the viewer's session with the camera.
    pub fn new(round_trip: Duration) -> Self {
        let group = GROUP;
        Self {
            live: Liveness::new(LivenessConfig { round_trip, group }),
            began: None,
            group,
        }
    }

    /// When the next challenge is due.
    pub fn next_challenge(&self) -> Duration {
        self.live.next_challenge()
    }

    /// When there will be an alarm if nothing comes until then.
    pub fn next_alarm(&self, now: Duration) -> Option<Duration> {
        self.live.next_alarm(now)
    }

    /// Makes a challenge of 16 fresh random bytes, if one is due. It must be sent now.
    pub fn challenge(&mut self, now: Duration, random: [u8; CHALLENGE_LEN], round_trip: Duration) -> Option<Challenge> {
        let group = self.group;
        self.live.set_config(LivenessConfig { round_trip, group });
        self.live.challenge(now, random)
    }

    /// Takes an answer. One that is too late, or the second one, says nothing.
    pub fn answer(&mut self, answer: &Answer) {
        let _ = self.live.answer(answer);
    }

    /// A verified frame was released.
    pub fn verified(&mut self, now: Duration, frame: &Verified) {
        self.live.verified(now, frame);
        if frame.statement().keyframe()
            && let Some(began) = self.began.replace(now)
        {
            self.group = now.saturating_sub(began);
        }
    }

    /// Age that the picture can have.
    pub fn state(&self, now: Duration) -> LivenessState {
        self.live.state(now)
    }
}
