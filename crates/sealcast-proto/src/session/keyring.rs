//! The epochs an end holds: the current one, the one before for stragglers, and the next while it is being agreed.

use std::time::Duration;

use crate::keys::{EpochKeys, EpochSecret, Side};
use crate::seal::{Opened, Refusal, SealLimits, Sealed, Suite};
use crate::wire::Kind;

/// How long the openers of an epoch are kept after the switch to the next.
const OLD_EPOCH_WINDOW: Duration = Duration::from_secs(5);

pub(super) struct KeyRing {
    suite: Suite,
    side: Side,
    limits: SealLimits,
    secret: EpochSecret,
    pub(super) current: EpochKeys,
    /// When the current epoch began.
    pub(super) since: Duration,
    previous: Option<(EpochKeys, Duration)>,
    next: Option<(EpochKeys, EpochSecret)>,
}

/// Which of the epochs a record was opened under.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenedUnder {
    Known,
    Next,
}

impl KeyRing {
    pub(super) fn new(secret: EpochSecret, suite: Suite, side: Side, limits: SealLimits, now: Duration) -> Self {
        let current = secret.keys(&suite, side, limits);
        Self {
            suite,
            side,
            limits,
            secret,
            current,
            since: now,
            previous: None,
            next: None,
        }
    }

    pub(super) fn secret(&self) -> &EpochSecret {
        &self.secret
    }

    /// The next epoch's number as it stands in messages.
    pub(super) fn next_wire_number(&self) -> u16 {
        (self.current.number + 1) as u16
    }

    pub(super) fn has_next(&self) -> bool {
        self.next.is_some()
    }

    /// Hold the openers of the next epoch ready.
    pub(super) fn install_next(&mut self, secret: EpochSecret) {
        let keys = secret.keys(&self.suite, self.side, self.limits);
        self.next = Some((keys, secret));
    }

    /// Seal under the next epoch from here on, and wipe the secret of the one before.
    pub(super) fn switch(&mut self, now: Duration) -> Option<u64> {
        let (keys, secret) = self.next.take()?;
        let old = std::mem::replace(&mut self.current, keys);
        self.secret = secret;
        self.since = now;
        self.previous = Some((old, now + OLD_EPOCH_WINDOW));
        Some(self.current.number)
    }

    /// Wipe the previous epoch when its window is over.
    pub(super) fn retire(&mut self, now: Duration) {
        if self.retirement().is_some_and(|at| at <= now) {
            self.previous = None;
        }
    }

    pub(super) fn retirement(&self) -> Option<Duration> {
        self.previous.as_ref().map(|(_, at)| *at)
    }

    pub(super) fn open<'b>(&mut self, record: Sealed<'b>) -> Result<(Opened<'b>, OpenedUnder), Refusal> {
        let header = record.unverified_header();
        let (keys, under) = if header.epoch == self.current.wire_number() {
            (&mut self.current, OpenedUnder::Known)
        } else if let Some((keys, _)) = self
            .next
            .as_mut()
            .filter(|(keys, _)| keys.wire_number() == header.epoch)
        {
            (keys, OpenedUnder::Next)
        } else if let Some((keys, _)) = self
            .previous
            .as_mut()
            .filter(|(keys, _)| keys.wire_number() == header.epoch)
        {
            (keys, OpenedUnder::Known)
        } else {
            return Err(Refusal::UnknownEpoch);
        };
        let opener = match header.kind {
            Kind::Control => &mut keys.control_opener,
            Kind::Media => &mut keys.media_opener,
        };
        Ok((opener.open(record)?, under))
    }

    pub(super) fn integrity_spent(&self) -> bool {
        let others = [
            self.previous.as_ref().map(|(keys, _)| keys),
            self.next.as_ref().map(|(keys, _)| keys),
        ];
        let spent = |keys: &EpochKeys| keys.control_opener.integrity_spent() || keys.media_opener.integrity_spent();
        spent(&self.current) || others.into_iter().flatten().any(spent)
    }
}
