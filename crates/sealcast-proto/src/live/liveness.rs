//! The viewer's half: it issues challenges, and says how old the picture is at most (signatures.md §6).

use std::collections::VecDeque;
use std::time::Duration;

use super::answer::{Answer, CHALLENGE_LEN, Challenge};
use crate::sign::{Hash, Verified};

/// Maximum number of challenges that wait for their answer or its frame.
pub const MAX_OUTSTANDING: usize = 64;

/// Maximum number of roots of verified frames that are remembered for answers that come later.
pub const MAX_ROOTS: usize = 64;

/// Time that an answer may take beyond a round trip and a group of pictures.
pub const MARGIN: Duration = Duration::from_millis(20);

/// Length that a shorter group of pictures counts as: within it several challenges can be lost before there is a false
/// alarm.
pub const MIN_GROUP: Duration = Duration::from_secs(1);

/// Length that a longer group of pictures counts as. Who could hold a keyframe back would stretch the limit.
pub const MAX_GROUP: Duration = Duration::from_secs(10);

/// Longest round trip that counts. Who could stretch it would stretch the limit.
pub const MAX_ROUND_TRIP: Duration = Duration::from_secs(1);

/// Challenges sent in the time of a group of pictures while none is answered.
const CHALLENGES_PER_GROUP: u32 = 10;

/// Part of a group of pictures after which a challenge follows one that is answered. What is left of the group has room
/// for more of them before there is a false alarm.
const ANSWERED_PER_GROUP: u32 = 3;

/// Longest time after which one follows: the age is known so closely.
pub const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Times that a viewer goes by.
#[derive(Clone, Copy, Debug)]
pub struct LivenessConfig {
    /// Shortest round trip measured in the viewer's own session with the camera.
    pub round_trip: Duration,
    /// Duration of a group of pictures; less than [`MIN_GROUP`] counts as that, and more than [`MAX_GROUP`] as that.
    pub group: Duration,
}

impl LivenessConfig {
    /// Age above which there is an alarm.
    pub fn limit(&self) -> Duration {
        self.round_trip.min(MAX_ROUND_TRIP) + self.group() + MARGIN
    }

    /// Time between two challenges while none is answered.
    pub fn interval(&self) -> Duration {
        self.group() / CHALLENGES_PER_GROUP
    }

    /// Time between a challenge that is answered and the next one.
    pub fn pause(&self) -> Duration {
        (self.group() / ANSWERED_PER_GROUP).clamp(self.interval(), MAX_PAUSE)
    }

    fn group(&self) -> Duration {
        self.group.clamp(MIN_GROUP, MAX_GROUP)
    }
}

/// Knowledge of a viewer about the age of its picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivenessState {
    /// No challenge is answered yet.
    Waiting,
    /// The newest picture was signed at most so long ago.
    Live {
        /// The bound, on the viewer's clock alone.
        at_most: Duration,
    },
    /// The picture may be older than the limit.
    Alarm(AlarmCause),
}

/// Cause of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmCause {
    /// No verified frames come.
    Freeze,
    /// Frames are verified, and none answers a challenge in time: they are late or old, or answers are dropped.
    Stale,
}

/// The answer is to no challenge that waits: it is another viewer's, repeated, or too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is to none of the challenges that wait")]
pub struct NotMine;

struct Outstanding {
    challenge: Challenge,
    sent: Duration,
    /// The root to which its answer leads, until a verified frame has it.
    root: Option<Hash>,
}

/// Issues challenges and judges what comes back. Times are those of the caller's monotonic clock.
///
/// Whenever [`deadline`](Self::deadline) has come, call [`challenge`](Self::challenge) and look at
/// [`state`](Self::state).
pub struct Liveness {
    config: LivenessConfig,
    outstanding: VecDeque<Outstanding>,
    /// Roots of verified frames, the newest last.
    roots: VecDeque<Hash>,
    first_sent: Option<Duration>,
    /// When the newest challenge was sent.
    sent: Option<Duration>,
    /// When the newest challenge was sent that a verified frame answers.
    answered: Option<Duration>,
    verified: Option<Duration>,
}

impl Liveness {
    /// Begins with a challenge that is due at once.
    pub fn new(config: LivenessConfig) -> Self {
        Self {
            config,
            outstanding: VecDeque::new(),
            roots: VecDeque::new(),
            first_sent: None,
            sent: None,
            answered: None,
            verified: None,
        }
    }

    /// Takes new measurements of the round trip and of groups of pictures.
    pub fn set_config(&mut self, config: LivenessConfig) {
        self.config = config;
    }

    /// Makes a challenge of 16 fresh random bytes, which nobody has seen before, if one is due. It must be sent now.
    pub fn challenge(&mut self, now: Duration, random: [u8; CHALLENGE_LEN]) -> Option<Challenge> {
        if now < self.next_challenge() {
            return None;
        }
        self.sent = Some(now);
        self.first_sent.get_or_insert(now);
        let limit = self.config.limit();
        self.outstanding
            .retain(|waiting| now.saturating_sub(waiting.sent) <= limit);
        if self.outstanding.len() == MAX_OUTSTANDING {
            self.outstanding.pop_front();
        }
        let challenge = Challenge(random);
        self.outstanding.push_back(Outstanding {
            challenge,
            sent: now,
            root: None,
        });
        Some(challenge)
    }

    /// Takes a verified frame, which is about to be shown.
    pub fn verified(&mut self, now: Duration, frame: &Verified) {
        self.verified = Some(now);
        let Some(root) = frame.statement().liveness else { return };
        if self.roots.len() == MAX_ROOTS {
            self.roots.pop_front();
        }
        self.roots.push_back(root);
        self.match_roots();
    }

    /// Takes an answer. It counts once a frame with its root has been verified, before or after.
    ///
    /// # Errors
    /// [`NotMine`]; nothing is changed.
    pub fn answer(&mut self, answer: &Answer) -> Result<(), NotMine> {
        // A forged answer must not keep the camera's away, so the last one counts.
        let mine = |waiting: &&mut Outstanding| waiting.challenge.name() == answer.name;
        let waiting = self.outstanding.iter_mut().find(mine).ok_or(NotMine)?;
        waiting.root = answer.root(&waiting.challenge);
        self.match_roots();
        Ok(())
    }

    /// State at `now`.
    pub fn state(&self, now: Duration) -> LivenessState {
        let limit = self.config.limit();
        let Some(since) = self.answered.or(self.first_sent) else {
            return LivenessState::Waiting;
        };
        let age = now.saturating_sub(since);
        if age > limit {
            let silent = self
                .verified
                .is_none_or(|at| now.saturating_sub(at) > self.config.group() / 2);
            return LivenessState::Alarm(if silent { AlarmCause::Freeze } else { AlarmCause::Stale });
        }
        match self.answered {
            Some(_) => LivenessState::Live { at_most: age },
            None => LivenessState::Waiting,
        }
    }

    /// When the next challenge is due. One that is not answered is soon followed by the next.
    pub fn next_challenge(&self) -> Duration {
        let earliest = self.sent.map_or(Duration::ZERO, |sent| sent + self.config.interval());
        let answered = self.answered.map(|answered| answered + self.config.pause());
        answered.map_or(earliest, |due| due.max(earliest))
    }

    /// When there will be an alarm if nothing comes until then. There is none where one is on already.
    pub fn next_alarm(&self, now: Duration) -> Option<Duration> {
        let since = self.answered.or(self.first_sent)?;
        let alarm = since + self.config.limit() + Duration::from_nanos(1);
        (alarm > now).then_some(alarm)
    }

    /// When the next challenge is due, or the next alarm, whichever is sooner.
    pub fn deadline(&self, now: Duration) -> Duration {
        let alarm = self.next_alarm(now);
        alarm.map_or(self.next_challenge(), |alarm| alarm.min(self.next_challenge()))
    }

    /// Finds the newest challenge that is answered, and forgets it and those before it.
    fn match_roots(&mut self) {
        let proven = |waiting: &Outstanding| waiting.root.is_some_and(|root| self.roots.contains(&root));
        if let Some(newest) = self.outstanding.iter().rposition(proven) {
            let sent = self
                .outstanding
                .drain(..=newest)
                .next_back()
                .map(|waiting| waiting.sent);
            self.answered = self.answered.max(sent);
        }
    }
}
