//! The epochs whose keys an end holds: the current one, some before it for late records, and the next one from the
//! agreement to the switch.

use std::collections::VecDeque;
use std::time::Duration;

use crate::keys::{EpochKeys, EpochSecret, Side};
use crate::seal::{Opened, Opener, Refusal, SealLimits, Sealed, Suite};
use crate::wire::{Header, Kind, PeerId};

/// Time for which the openers of an epoch are kept after the switch to the next.
const OLD_EPOCH_WINDOW: Duration = Duration::from_secs(5);
/// Maximum number of old epochs kept: as many as end within [`OLD_EPOCH_WINDOW`] if each lasts a second.
const MAX_OLD_EPOCHS: usize = 5;

pub(super) struct KeyRing {
    suite: Suite,
    side: Side,
    limits: SealLimits,
    secret: EpochSecret,
    pub(super) current: EpochKeys,
    /// Time at which the current epoch began.
    pub(super) since: Duration,
    /// Oldest first, each with the time at which it is wiped.
    old: VecDeque<(EpochKeys, Duration)>,
    next: Option<(EpochKeys, EpochSecret)>,
    /// The camera, where its media records are kept as they come.
    keeps: Option<PeerId>,
    /// True if the session has data channels, whose keys are derived then.
    has_data: bool,
}

/// The epoch that a record was opened under.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenedUnder {
    Known,
    Next,
}

/// A media record that was received before, or is too old to know. Nothing in it was verified.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) epoch: u16,
    pub(super) seq: u32,
}

impl Repeated {
    /// The record with this header.
    pub(super) fn of(header: Header) -> Self {
        Self {
            epoch: header.epoch,
            seq: header.seq,
        }
    }
}

/// Reason why a record was not opened.
pub(super) enum NotOpened {
    Refused(Refusal),
    /// The replay window rejected it. It may still be legitimate where media can be lost, since records are sent again
    /// there.
    Repeated(Repeated),
}

impl From<Refusal> for NotOpened {
    fn from(reason: Refusal) -> Self {
        Self::Refused(reason)
    }
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
            old: VecDeque::with_capacity(MAX_OLD_EPOCHS),
            next: None,
            keeps: None,
            has_data: false,
        }
    }

    /// From now on, data records are sealed and opened.
    pub(super) fn have_data(&mut self) {
        if self.has_data {
            return;
        }
        self.has_data = true;
        let (suite, side, limits) = (&self.suite, self.side, self.limits);
        self.current.data = Some(Box::new(self.secret.data_keys(suite, side, limits)));
        if let Some((keys, secret)) = &mut self.next {
            keys.data = Some(Box::new(secret.data_keys(suite, side, limits)));
        }
    }

    /// From now on, media records of this camera are kept as they come.
    pub(super) fn keep_sealed(&mut self, camera: PeerId) {
        self.keeps = Some(camera);
        if let Some(key) = self.secret.media_key(&self.suite, self.side.other(), camera) {
            self.current.media_opener.keep_sealed(key);
        }
    }

    pub(super) fn secret(&self) -> &EpochSecret {
        &self.secret
    }

    /// The next epoch's number in messages, which is its low 16 bits.
    pub(super) fn next_wire_number(&self) -> u16 {
        (self.current.number + 1) as u16
    }

    pub(super) fn has_next(&self) -> bool {
        self.next.is_some()
    }

    /// Install the keys of the next epoch, so that its records can be opened.
    pub(super) fn install_next(&mut self, secret: EpochSecret) {
        let mut keys = secret.keys(&self.suite, self.side, self.limits);
        let media_key = |camera| secret.media_key(&self.suite, self.side.other(), camera);
        if let Some(key) = self.keeps.and_then(media_key) {
            keys.media_opener.keep_sealed(key);
        }
        if self.has_data {
            keys.data = Some(Box::new(secret.data_keys(&self.suite, self.side, self.limits)));
        }
        self.next = Some((keys, secret));
    }

    /// Seal under the next epoch from here on, and wipe the secret of the one before. Returns the new epoch's number,
    /// or `None` if no next epoch is installed.
    pub(super) fn switch(&mut self, now: Duration) -> Option<u64> {
        let (keys, secret) = self.next.take()?;
        let old = std::mem::replace(&mut self.current, keys);
        self.secret = secret;
        self.since = now;
        if self.old.len() == MAX_OLD_EPOCHS {
            self.old.pop_front();
        }
        self.old.push_back((old, now + OLD_EPOCH_WINDOW));
        Some(self.current.number)
    }

    /// Wipe the keys of the old epochs whose window is over.
    pub(super) fn retire(&mut self, now: Duration) {
        while self.retirement().is_some_and(|at| at <= now) {
            self.old.pop_front();
        }
    }

    pub(super) fn retirement(&self) -> Option<Duration> {
        self.old.front().map(|(_, at)| *at)
    }

    pub(super) fn open<'b>(&mut self, record: Sealed<'b>) -> Result<(Opened<'b>, OpenedUnder), NotOpened> {
        let header = record.unverified_header();
        let (keys, under) = if header.epoch == self.current.wire_number() {
            (&mut self.current, OpenedUnder::Known)
        } else if let Some((keys, _)) = self
            .next
            .as_mut()
            .filter(|(keys, _)| keys.wire_number() == header.epoch)
        {
            (keys, OpenedUnder::Next)
        } else if let Some((keys, _)) = self.old.iter_mut().find(|(keys, _)| keys.wire_number() == header.epoch) {
            (keys, OpenedUnder::Known)
        } else {
            return Err(Refusal::UnknownEpoch.into());
        };
        let opener = match header.kind {
            Kind::Control => &mut keys.control_opener,
            Kind::Media => &mut keys.media_opener,
            Kind::Cell => &mut keys.cell_opener,
            Kind::Data => match &mut keys.data {
                Some(data) => &mut data.opener,
                None => return Err(Refusal::UnknownEpoch.into()),
            },
        };
        match opener.open(record) {
            Ok(opened) => Ok((opened, under)),
            Err(Refusal::Replay) if header.kind == Kind::Media => Err(NotOpened::Repeated(Repeated::of(header))),
            Err(reason) => Err(reason.into()),
        }
    }

    pub(super) fn integrity_spent(&self) -> bool {
        let old = self.old.iter().map(|(keys, _)| keys);
        let next = self.next.iter().map(|(keys, _)| keys);
        let mut all = std::iter::once(&self.current).chain(next).chain(old);
        all.any(|keys| {
            let openers = [&keys.control_opener, &keys.media_opener, &keys.cell_opener];
            let data = keys.data.as_ref().map(|data| &data.opener);
            openers.into_iter().chain(data).any(Opener::integrity_spent)
        })
    }
}
