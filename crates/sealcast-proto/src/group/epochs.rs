//! The openers that a member holds: of the epoch in use, and of some around it (groups.md §8).

use std::time::Duration;

use super::MAX_RATCHET;
use super::node::Node;
use super::secret::{Group, GroupName, KeyUse, NodeSecret};
use crate::seal::{Opened, Opener, Refusal, Sealed, Suite};

/// Time for which the openers of earlier epochs are kept, from when a later one is in use.
const OLD_EPOCH_WINDOW: Duration = Duration::from_secs(5);
/// Maximum number of earlier epochs kept. A leader begins at most two a second, unless its groups of pictures are
/// shorter.
const MAX_OLD_EPOCHS: usize = 16;
/// Maximum number of later epochs kept, of which no frame is known to be the camera's.
const MAX_AHEAD: usize = 4;
/// Number of epochs before a sheet's whose openers are made when it is taken, for records under way.
const UNDER_WAY: u64 = 2;

/// Contents of a sheet about its epoch, from which later ones are derived.
#[derive(Clone)]
pub(super) struct Base {
    pub(super) group: Group,
    pub(super) suite: Suite,
    pub(super) epoch: u64,
    pub(super) secret: NodeSecret,
    /// True if media records are kept as they come.
    pub(super) keeps: bool,
}

impl Base {
    fn secret_of(&self, epoch: u64) -> Option<NodeSecret> {
        let steps = epoch.checked_sub(self.epoch)?;
        let ratcheted = || self.secret.ratcheted(&self.group, Node::ROOT, self.epoch, epoch);
        (steps <= MAX_RATCHET).then(ratcheted)
    }

    fn openers_of(&self, epoch: u64) -> Option<Openers> {
        let secret = self.secret_of(epoch)?;
        let of_stream = |group: &Group| {
            let opener = |of| secret.opener(group, epoch, &self.suite, of);
            let mut media = opener(KeyUse::Media);
            if let Some(key) = secret.media_key(group, epoch, &self.suite).filter(|_| self.keeps) {
                media.keep_sealed(key);
            }
            StreamOpeners {
                media,
                repairs: opener(KeyUse::Repair),
            }
        };
        Some(Openers {
            name: self.group.name,
            picture: of_stream(&self.group),
            sound: of_stream(&self.group.sound()),
        })
    }

    /// The epoch that a header means: the nearest one with these low bits.
    fn epoch_of(&self, low_bits: u16) -> Option<u64> {
        let ahead = low_bits.wrapping_sub(self.epoch as u16).cast_signed();
        self.epoch.checked_add_signed(ahead.into())
    }
}

/// The openers of an epoch: of the group's stream, and of the sound beside it.
struct Openers {
    name: GroupName,
    picture: StreamOpeners,
    sound: StreamOpeners,
}

/// The openers of one stream.
struct StreamOpeners {
    media: Opener,
    repairs: Opener,
}

impl Openers {
    fn open<'b>(&mut self, record: Sealed<'b>) -> Result<Opened<'b>, Refusal> {
        let header = record.unverified_header();
        let of_stream = match self.name.has_sound(header.stream) {
            true => &mut self.sound,
            false => &mut self.picture,
        };
        if header.flags.repair() {
            of_stream.repairs.open(record)
        } else {
            of_stream.media.open(record)
        }
    }

    fn integrity_spent(&self) -> bool {
        let mut openers = [&self.picture, &self.sound].into_iter();
        openers.any(|stream| stream.media.integrity_spent() || stream.repairs.integrity_spent())
    }
}

struct Held {
    epoch: u64,
    openers: Openers,
    /// When it is wiped, of an epoch before the one in use.
    until: Option<Duration>,
}

/// Openers by epoch.
pub(super) struct Epochs {
    base: Base,
    /// The newest epoch of which a frame is known to be the camera's.
    in_use: u64,
    /// In ascending order; at most [`MAX_OLD_EPOCHS`], the one in use, and [`MAX_AHEAD`].
    held: Vec<Held>,
}

impl Epochs {
    pub(super) fn new(base: Base) -> Self {
        Self {
            in_use: base.epoch,
            held: Vec::new(),
            base,
        }
    }

    /// Goes on from a sheet, whose epoch is later than that of the last one.
    pub(super) fn rebase(&mut self, base: Base) {
        if base.group != self.base.group || base.suite != self.base.suite {
            *self = Self::new(base);
            return;
        }
        if self.base.secret_of(base.epoch).as_ref() != Some(&base.secret) {
            self.held.retain(|held| held.epoch < base.epoch);
            self.in_use = self.in_use.min(base.epoch);
        }
        // Epochs in which no frame was known to be the camera's were perhaps one member's alone, and would take the
        // place of the sheet's.
        let under_way = base.epoch.saturating_sub(UNDER_WAY);
        self.held
            .retain(|held| held.epoch <= self.in_use || held.epoch >= under_way);
        for epoch in under_way..base.epoch {
            if epoch >= self.in_use && self.find(epoch).is_err() {
                self.hold(epoch);
            }
        }
        self.base = base;
        self.bound();
    }

    /// Opens a record, under an opener that is held or one that the ratchet leads to.
    pub(super) fn open<'b>(&mut self, record: Sealed<'b>) -> Result<(Opened<'b>, u64), Refusal> {
        let low_bits = record.unverified_header().epoch;
        let epoch = self.base.epoch_of(low_bits).ok_or(Refusal::UnknownEpoch)?;
        if let Ok(at) = self.find(epoch) {
            return Ok((self.held[at].openers.open(record)?, epoch));
        }
        if epoch < self.in_use {
            // Its opener was wiped, and another one would have forgotten which records it opened.
            return Err(Refusal::UnknownEpoch);
        }
        let mut openers = self.base.openers_of(epoch).ok_or(Refusal::UnknownEpoch)?;
        let opened = openers.open(record)?;
        self.insert(epoch, openers);
        self.bound();
        Ok((opened, epoch))
    }

    /// True if these low bits are those of an epoch after the sheet's, of which nothing was opened yet.
    pub(super) fn is_ahead(&self, low_bits: u16) -> bool {
        let epoch = self.base.epoch_of(low_bits);
        epoch.is_some_and(|epoch| epoch > self.base.epoch && self.find(epoch).is_err())
    }

    /// True if a record is of an epoch after the sheet's, and the ratchet does not lead to its key.
    pub(super) fn waits_for_key(&self, record: Sealed<'_>) -> bool {
        let low_bits = record.unverified_header().epoch;
        let Some(epoch) = self.base.epoch_of(low_bits).filter(|_| self.is_ahead(low_bits)) else {
            return false;
        };
        let openers = self.base.openers_of(epoch);
        openers.is_none_or(|mut openers| openers.open(record).is_err())
    }

    /// Notes that a frame under this epoch is the camera's.
    pub(super) fn confirm(&mut self, now: Duration, epoch: u64) {
        // A held epoch may be before the sheet's, which comes half a second ahead of its records.
        let known = self.find(epoch).is_ok() || self.base.secret_of(epoch).is_some();
        if epoch <= self.in_use || !known {
            return;
        }
        if self.find(epoch).is_err() {
            self.hold(epoch);
        }
        self.in_use = epoch;
        for old in self.held.iter_mut().filter(|held| held.epoch < epoch) {
            old.until.get_or_insert(now + OLD_EPOCH_WINDOW);
        }
        self.bound();
    }

    /// Wipes what has been kept long enough.
    pub(super) fn retire(&mut self, now: Duration) {
        self.held.retain(|held| held.until.is_none_or(|until| now < until));
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.held.iter().filter_map(|held| held.until).min()
    }

    pub(super) fn integrity_spent(&self) -> bool {
        self.held.iter().any(|held| held.openers.integrity_spent())
    }

    fn find(&self, epoch: u64) -> Result<usize, usize> {
        self.held.binary_search_by_key(&epoch, |held| held.epoch)
    }

    fn hold(&mut self, epoch: u64) {
        if let Some(openers) = self.base.openers_of(epoch) {
            self.insert(epoch, openers);
        }
    }

    fn insert(&mut self, epoch: u64, openers: Openers) {
        let (Ok(at) | Err(at)) = self.find(epoch);
        let until = None;
        self.held.insert(at, Held { epoch, openers, until });
    }

    /// Drops the earliest of too many earlier epochs, and the furthest of too many later ones.
    fn bound(&mut self) {
        let old = self.held.partition_point(|held| held.epoch < self.in_use);
        self.held.drain(..old.saturating_sub(MAX_OLD_EPOCHS));
        let later = self.held.partition_point(|held| held.epoch <= self.in_use);
        self.held.truncate(later + MAX_AHEAD);
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> Vec<u64> {
        self.held.iter().map(|held| held.epoch).collect()
    }
}
