//! The camera's side of a group: who is a member, when epochs begin, and the sheets that say so (groups.md §7).

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::pending::{LeaderError, MemberId, Pending};
use super::secret::{Group, GroupName, KeyUse, MemberKey, RUN_LEN};
use super::sheet::{Head, Scope, Wraps};
use super::terms::Terms;
use super::tree::{Changes, Tree};
use super::{FULL_UP_TO, MAX_RATCHET};
use crate::keys::Identity;
use crate::seal::{MediaKey, SealLimits, Sealer, Suite};
use crate::sign::SignMode;
use crate::wire::CameraName;

/// Time after which a change is in force, from the moment at which it was asked for.
pub const IN_FORCE_WITHIN: Duration = Duration::from_secs(1);

/// Time from announcing an epoch to sealing under it, if no group of pictures begins before. It is half of
/// [`IN_FORCE_WITHIN`], so that a change which waits for another one is in force in time as well.
pub const SWITCH_WITHIN: Duration = Duration::from_millis(500);

/// Settings of a leader.
pub struct LeaderConfig {
    /// The camera's identity, which signs the sheets.
    pub identity: Arc<Identity>,
    /// The number of the camera's stream, 1 to 15.
    pub stream: u32,
    /// The suite of the media records.
    pub suite: Suite,
    /// Limits of each epoch's key.
    pub limits: SealLimits,
}

/// An epoch that members were told of, or will be by the program. Nothing is sealed under it yet.
#[derive(Debug)]
pub struct Announcement {
    /// The epoch's number.
    pub epoch: u64,
    /// The sheet for all members, to be sent at once. `None` if they reach the epoch by themselves.
    pub sheet: Option<Vec<u8>>,
    /// New members from this epoch on. Each needs its [`path_sheet`](Leader::path_sheet).
    pub admitted: Vec<MemberId>,
    /// Members that leave with this epoch.
    pub removed: Vec<MemberId>,
}

/// The epoch that is in force: seal everything from here on with its sealer. There is one sealer for each epoch.
pub struct InForce {
    /// The epoch's number.
    pub epoch: u64,
    /// Seals the group's media records.
    pub sealer: Sealer,
    /// Seals the repair records among them.
    pub repairs: Sealer,
    /// The key of the media records, for archives.
    pub key: MediaKey,
    /// Keys of the sound beside them.
    pub sound: SoundKeys,
}

impl InForce {
    /// The keys of the media records, of the picture and of the sound.
    pub fn media_keys(&self) -> [MediaKey; 2] {
        [self.key.clone(), self.sound.key.clone()]
    }
}

/// The keys of an epoch's sound. They are not those of the picture, so both count their records by themselves.
pub struct SoundKeys {
    /// Seals the media records of the sound.
    pub sealer: Sealer,
    /// Seals the repair records among them.
    pub repairs: Sealer,
    /// The key of the media records, for archives.
    pub key: MediaKey,
}

/// The camera's side of a group. It is deterministic: the program passes the monotonic clock and fresh random bytes in.
///
/// Tell it of changes with [`admit`](Self::admit), [`remove`](Self::remove) and [`rekey`](Self::rekey). Then, and at
/// each [`deadline`](Self::deadline) and beginning of a group of pictures, call [`switch`](Self::switch) and after it
/// [`announce`](Self::announce), and send what they return.
pub struct Leader {
    config: LeaderConfig,
    tree: Tree,
    /// Epoch numbers that were reserved and not used.
    numbers: Range<u64>,
    pending: Pending,
    /// The time at which the announced epoch must be in force, while it is not.
    under_way: Option<Duration>,
    /// The epoch of the last sheet for all members.
    last_sheet: u64,
    /// The first group of pictures of which nothing is sealed under an epoch before the announced one.
    effect: u64,
}

impl Leader {
    /// Creates the leader of a group without members, and its first epoch.
    ///
    /// `numbers` are the epoch numbers that the program reserved on disk before this call (groups.md §1): no earlier
    /// run may have been given any of them. `group` is the number of the next group of pictures. `run` and `seed` are
    /// fresh random bytes.
    ///
    /// # Errors
    /// [`LeaderError::NoNumbers`] if `numbers` is empty.
    pub fn new(
        config: LeaderConfig,
        mut numbers: Range<u64>,
        group: u64,
        run: [u8; RUN_LEN],
        seed: &[u8; 32],
    ) -> Result<(Self, InForce), LeaderError> {
        let epoch = numbers.next().ok_or(LeaderError::NoNumbers)?;
        let name = GroupName {
            camera: config.identity.peer_id(),
            stream: config.stream,
        };
        let leader = Self {
            tree: Tree::new(Group { name, run }, epoch, seed),
            config,
            numbers,
            pending: Pending::default(),
            under_way: None,
            last_sheet: epoch,
            effect: group,
        };
        let first = leader.in_force();
        Ok((leader, first))
    }

    /// Takes further epoch numbers, which the program has reserved on disk: those up to `end`, without it.
    pub fn reserve(&mut self, end: u64) {
        self.numbers.end = end.max(self.numbers.end);
    }

    /// Returns how many reserved epoch numbers are left.
    pub fn numbers_left(&self) -> u64 {
        self.numbers.end - self.numbers.start
    }

    /// Returns the number of the newest announced epoch.
    pub fn epoch(&self) -> u64 {
        self.tree.epoch()
    }

    /// Returns the number of members, as of the newest announced epoch.
    pub fn members(&self) -> usize {
        self.tree.members()
    }

    /// Makes a member, from the next epoch that is announced on.
    ///
    /// # Errors
    /// [`LeaderError::Known`] or [`LeaderError::Full`].
    pub fn admit(&mut self, now: Duration, member: MemberId, key: MemberKey) -> Result<(), LeaderError> {
        let (seated, members) = (self.tree.seats(member), self.tree.members());
        self.pending.admit(now, member, key, seated, members)
    }

    /// Removes a member, or takes its admission back if it was not announced.
    ///
    /// # Errors
    /// [`LeaderError::Unknown`].
    pub fn remove(&mut self, now: Duration, member: MemberId) -> Result<(), LeaderError> {
        self.pending.remove(now, member, self.tree.seats(member))
    }

    /// Draws a new group secret: at the limits of keys.md §6, or when the user asks for it.
    pub fn rekey(&mut self, now: Duration) {
        self.pending.rekey(now);
    }

    /// True if [`announce`](Self::announce) has something to announce.
    pub fn announces(&self) -> bool {
        self.pending.since().is_some() && self.under_way.is_none()
    }

    /// Announces the next epoch, if changes wait and no announced epoch waits to be in force. `next_group` is the
    /// number of the group of pictures that begins next, `seed` fresh random bytes, which are used only if the result
    /// is not `None`.
    ///
    /// # Errors
    /// [`LeaderError::NoNumbers`]; the changes go on waiting.
    pub fn announce(
        &mut self,
        now: Duration,
        next_group: u64,
        seed: &[u8; 32],
    ) -> Result<Option<Announcement>, LeaderError> {
        let (Some(since), None) = (self.pending.since(), self.under_way) else {
            return Ok(None);
        };
        let epoch = self.numbers.next().ok_or(LeaderError::NoNumbers)?;
        let pending = std::mem::take(&mut self.pending);
        let changes = Changes {
            leave: &pending.leave,
            join: &pending.join,
            renew: pending.renew || epoch - self.last_sheet >= MAX_RATCHET,
        };
        let renewed = self.tree.advance(epoch, &changes, seed);
        self.under_way = Some((since + IN_FORCE_WITHIN).min(now + SWITCH_WITHIN));
        self.effect = self.effect.max(next_group);
        let sheet = (!renewed.is_empty()).then(|| {
            self.last_sheet = epoch;
            if self.tree.members() <= FULL_UP_TO {
                self.full_sheet()
            } else {
                self.sheet(Scope::Update, &self.tree.wraps_below(&renewed))
            }
        });
        Ok(Some(Announcement {
            epoch,
            sheet,
            admitted: pending.join.into_keys().collect(),
            removed: pending.leave.into_iter().collect(),
        }))
    }

    /// Puts the announced epoch in force if it is time: where a group of pictures begins, or at the deadline. Call it
    /// before the first record of each group of pictures, with `group_begins`.
    pub fn switch(&mut self, now: Duration, group_begins: bool) -> Option<InForce> {
        self.under_way.take_if(|deadline| group_begins || *deadline <= now)?;
        Some(self.in_force())
    }

    /// Returns the time at which [`switch`](Self::switch) and [`announce`](Self::announce) are due; a time in the past
    /// if changes wait to be announced.
    pub fn deadline(&self) -> Option<Duration> {
        self.under_way.or(self.pending.since())
    }

    /// Makes the full sheet of the newest announced epoch, for relays' caches.
    pub fn full_sheet(&self) -> Vec<u8> {
        self.sheet(Scope::Full, &self.tree.all_wraps())
    }

    /// Makes the sheet of the newest announced epoch for one member: who joins, or missed a sheet. `None` if it is
    /// none.
    pub fn path_sheet(&self, member: MemberId) -> Option<Vec<u8>> {
        let wraps = self.tree.wraps_of(member)?;
        Some(self.sheet(Scope::Path, &wraps))
    }

    /// Makes the terms of this run, with what the camera signs and its name (groups.md §6).
    pub fn terms(&self, sign: SignMode, name: CameraName) -> Vec<u8> {
        let terms = Terms::new(*self.tree.group(), sign, self.config.suite.id, name);
        terms.signed(&self.config.identity)
    }

    fn sheet(&self, scope: Scope, wraps: &Wraps) -> Vec<u8> {
        let head = Head {
            scope,
            suite: self.config.suite.id,
            group: *self.tree.group(),
            epoch: self.tree.epoch(),
            effect: self.effect,
        };
        head.sign(wraps, &self.config.identity)
    }

    /// Makes the sealer of the announced epoch. It is called once for each: at the switch to it.
    fn in_force(&self) -> InForce {
        let (epoch, secret) = (self.tree.epoch(), self.tree.group_secret());
        let LeaderConfig { suite, limits, .. } = &self.config;
        let picture = *self.tree.group();
        let sealer = |group: &Group, of| secret.sealer(group, epoch, suite, *limits, of);
        let sound = picture.sound();
        let [key, sound_key] = self.media_keys();
        InForce {
            epoch,
            sealer: sealer(&picture, KeyUse::Media),
            repairs: sealer(&picture, KeyUse::Repair),
            key,
            sound: SoundKeys {
                sealer: sealer(&sound, KeyUse::Media),
                repairs: sealer(&sound, KeyUse::Repair),
                key: sound_key,
            },
        }
    }

    /// The keys of the media records of the newest announced epoch, for archives: of the picture and of the sound.
    pub fn media_keys(&self) -> [MediaKey; 2] {
        let (secret, epoch) = (self.tree.group_secret(), self.tree.epoch());
        let picture = *self.tree.group();
        [picture, picture.sound()].map(|group| {
            let key = secret.media_key(&group, epoch, &self.config.suite);
            key.expect("keys are derived as long as the suite needs them")
        })
    }

    #[cfg(test)]
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }
}
