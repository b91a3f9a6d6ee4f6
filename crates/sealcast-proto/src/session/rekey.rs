//! Agreement on the next epoch: the publisher's half (offer, wait for the answer, switch) and the viewer's (answer,
//! follow).

use std::ops::Range;
use std::time::Duration;

use crate::keys::{DecapsulationKey, EpochSecret, Identity, Mechanism, MechanismError, RekeySignature, SIGNATURE_LEN};
use crate::wire::Control;

/// Time after which an unanswered offer is sent again.
const OFFER_PATIENCE: Duration = Duration::from_millis(500);
/// Maximum time for which the publisher waits for a keyframe to switch at, unless the epoch was begun for its age.
pub(super) const SWITCH_PATIENCE: Duration = Duration::from_secs(1);
/// Minimum interval between a viewer's requests that are honoured.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why a new epoch was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RekeyCause {
    /// The age of the epoch before it.
    Time,
    /// The number of records sealed under a key.
    Count,
    /// A request of the program or of the viewer.
    Demand,
}

/// Signer of the messages of one exchange.
pub(super) struct Signer<'a> {
    pub(super) identity: &'a Identity,
    pub(super) binding: &'a [u8; 32],
    /// Number of the epoch to agree on.
    pub(super) epoch: u64,
}

impl<'a> Signer<'a> {
    /// Signatures on an offer, or on an answer to `offer`.
    pub(super) fn about(&self, offer: Option<&'a [u8]>) -> RekeySignature<'a> {
        RekeySignature {
            binding: self.binding,
            epoch: self.epoch,
            offer,
        }
    }
}

/// The publisher's half.
#[derive(Default)]
pub(super) struct RekeyInitiator {
    state: LeaderState,
    cause: Option<RekeyCause>,
    last_request: Option<Duration>,
}

#[derive(Default)]
enum LeaderState {
    #[default]
    Idle,
    Offered {
        key: Box<dyn DecapsulationKey>,
        offer: Vec<u8>,
        sent: Duration,
    },
    Ready {
        /// The switch happens at the first keyframe from `from` on, or at `until` if none came before.
        from: Duration,
        until: Duration,
    },
}

impl RekeyInitiator {
    pub(super) fn idle(&self) -> bool {
        matches!(self.state, LeaderState::Idle)
    }

    /// True if a viewer's request may be honoured now; the next one must wait then.
    pub(super) fn allow_request(&mut self, now: Duration) -> bool {
        let allowed = self.idle() && self.last_request.is_none_or(|last| now >= last + REQUEST_INTERVAL);
        if allowed {
            self.last_request = Some(now);
        }
        allowed
    }

    /// Begin a new epoch. Returns the offer to send.
    pub(super) fn offer(
        &mut self,
        now: Duration,
        signer: &Signer<'_>,
        mechanism: &dyn Mechanism,
        cause: RekeyCause,
    ) -> Result<Vec<u8>, MechanismError> {
        let key = mechanism.generate()?;
        let mut offer = Control::RekeyOffer {
            epoch: signer.epoch as u16,
            mechanism: mechanism.id(),
            share: key.share(),
            signature: [0; SIGNATURE_LEN],
        }
        .to_bytes();
        signer.about(None).sign(signer.identity, &mut offer);
        self.state = LeaderState::Offered {
            key,
            offer: offer.clone(),
            sent: now,
        };
        self.cause = Some(cause);
        Ok(offer)
    }

    /// The offer, if a repetition is due.
    pub(super) fn repeat_offer(&mut self, now: Duration) -> Option<Vec<u8>> {
        let LeaderState::Offered { offer, sent, .. } = &mut self.state else {
            return None;
        };
        if now < *sent + OFFER_PATIENCE {
            return None;
        }
        *sent = now;
        Some(offer.clone())
    }

    /// Process the answer. Returns the next epoch's secret, or `None` if no offer was made. If the cause was the
    /// epoch's age, the switch happens within `last_part`, the last part of the soft age.
    pub(super) fn answered(
        &mut self,
        now: Duration,
        last_part: Range<Duration>,
        current: &EpochSecret,
        answer: &[u8],
        ciphertext: &[u8],
    ) -> Option<Result<EpochSecret, MechanismError>> {
        let Range {
            start: from,
            end: until,
        } = match self.cause {
            Some(RekeyCause::Time) => last_part,
            _ => now..now + SWITCH_PATIENCE,
        };
        let ready = LeaderState::Ready { from, until };
        let LeaderState::Offered { key, offer, .. } = std::mem::replace(&mut self.state, ready) else {
            return None;
        };
        Some(
            key.decapsulate(ciphertext)
                .map(|shared| current.next(&offer, answer, &shared)),
        )
    }

    /// The offer that awaits its answer.
    pub(super) fn offered(&self) -> Option<&[u8]> {
        match &self.state {
            LeaderState::Offered { offer, .. } => Some(offer),
            LeaderState::Idle | LeaderState::Ready { .. } => None,
        }
    }

    /// True if this is the place to switch: a keyframe, or the end of the wait for one.
    pub(super) fn should_switch(&self, now: Duration, keyframe: bool) -> bool {
        matches!(self.state, LeaderState::Ready { from, until } if (keyframe && now >= from) || now >= until)
    }

    pub(super) fn switched(&mut self) -> Option<RekeyCause> {
        self.state = LeaderState::Idle;
        self.cause.take()
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.state {
            LeaderState::Idle => None,
            LeaderState::Offered { sent, .. } => Some(sent + OFFER_PATIENCE),
            LeaderState::Ready { until, .. } => Some(until),
        }
    }
}

/// The viewer's half.
#[derive(Default)]
pub(super) struct RekeyResponder {
    /// The last offer and its answer, so that a repeated offer gets the same answer.
    answered: Option<(Vec<u8>, Vec<u8>)>,
    /// Time of the last request for a new epoch.
    asked: Option<Duration>,
}

impl RekeyResponder {
    /// True if this end may ask for a new epoch by itself now; the next request must wait then.
    pub(super) fn may_ask(&mut self, now: Duration) -> bool {
        let allowed = now >= self.may_ask_at();
        if allowed {
            self.asked = Some(now);
        }
        allowed
    }

    pub(super) fn may_ask_at(&self) -> Duration {
        self.asked.map_or(Duration::ZERO, |asked| asked + REQUEST_INTERVAL)
    }

    /// The answer to this offer, if it was given already.
    pub(super) fn repeated(&self, offer: &[u8]) -> Option<Vec<u8>> {
        self.answered
            .as_ref()
            .filter(|(earlier, _)| earlier == offer)
            .map(|(_, answer)| answer.clone())
    }

    /// Answer an offer. Returns the answer to send and the next epoch's secret.
    pub(super) fn answer(
        &mut self,
        current: &EpochSecret,
        signer: &Signer<'_>,
        offer: &[u8],
        mechanism: &dyn Mechanism,
        share: &[u8],
    ) -> Result<(Vec<u8>, EpochSecret), MechanismError> {
        let (ciphertext, shared) = mechanism.encapsulate(share)?;
        let mut answer = Control::RekeyAnswer {
            epoch: signer.epoch as u16,
            ciphertext: &ciphertext,
            signature: [0; SIGNATURE_LEN],
        }
        .to_bytes();
        signer.about(Some(offer)).sign(signer.identity, &mut answer);
        let next = current.next(offer, &answer, &shared);
        self.answered = Some((offer.to_vec(), answer.clone()));
        Ok((answer, next))
    }
}
