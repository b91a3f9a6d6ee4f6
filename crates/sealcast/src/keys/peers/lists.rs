//! The rules: who is enrolled, what an invite is still good for, and what each edit changes. No file and no clock.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use sealcast_proto::keys::{Invite, MAX_PSKS, Peer, PeerId, PresharedKey, PskName};
use sealcast_proto::wire::{CloseReason, TransportKind};

use super::limit::CameraLimit;
use super::roll::{Enrolment, ListedPeer, MAX_ENROLLED, Roll};

/// Maximum number of live invites. One more is refused.
pub const MAX_INVITES: usize = 256;
/// Maximum number of peers that one invite enrols.
pub const MAX_USES: u32 = MAX_ENROLLED as u32;
/// Maximum life of an invite in hours: a year.
pub const MAX_HOURS: u32 = 8760;
/// The same, as a length of time.
pub const MAX_LIFE: Duration = Duration::from_hours(MAX_HOURS as u64);

const _: () = assert!(
    MAX_ENROLLED + MAX_INVITES <= MAX_PSKS,
    "a hello is tried with all of them"
);

/// Terms of an invite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Number of peers that it enrols, 1 to [`MAX_USES`].
    pub uses: u32,
    /// Its life in whole seconds, at least one and at most [`MAX_LIFE`].
    pub life: Duration,
}

impl Terms {
    /// Terms that enrol so many peers within so many hours.
    pub fn hours(uses: u32, hours: u32) -> Self {
        let life = Duration::from_hours(hours.into());
        Self { uses, life }
    }
}

/// Maker of an invite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A start of the program, for a ticket of this carrier, of which it printed this number before. The next start
    /// prints it again, so that starts use no invites up and what was handed on stays good.
    Start(TransportKind, u8),
    /// A user, with the command `invite`, for somebody: it is never printed again.
    User,
}

/// An invite that has not been withdrawn.
#[derive(Clone)]
pub struct LiveInvite {
    /// The secret of the ticket.
    pub invite: Invite,
    /// Its public name.
    pub name: PskName,
    /// Number of peers that it may still enrol.
    pub left: u32,
    /// Number of peers that it could enrol at first.
    pub allowed: u32,
    /// It is worth nothing from then on, by the wall clock.
    pub expires: Timestamp,
    /// Its life when it was made.
    pub life: Duration,
    /// Its maker.
    pub origin: Origin,
    /// One line of text for the user, which the peers that it enrols inherit.
    pub label: String,
    /// The cameras to which it is limited, and who is enrolled by it.
    pub cameras: CameraLimit,
}

impl LiveInvite {
    /// An invite made `now`, without a label.
    pub fn new(invite: Invite, terms: Terms, origin: Origin, now: Timestamp) -> Self {
        let end = now.as_second().saturating_add(seconds(terms.life));
        Self {
            name: PresharedKey::from_invite(&invite).name(),
            invite,
            left: terms.uses,
            allowed: terms.uses,
            expires: Timestamp::from_second(end).unwrap_or(Timestamp::MAX),
            life: terms.life,
            origin,
            label: String::new(),
            cameras: CameraLimit::default(),
        }
    }

    /// True if it enrols anybody: it has not expired, nor ends later than any invite of now could. One that does was
    /// made while the clock was far ahead, and would outlive what was promised.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires && self.expires.as_second() <= now.as_second().saturating_add(seconds(MAX_LIFE))
    }

    /// True if a start prints it again that would make an invite of these terms and origin: it enrols somebody, and
    /// more than half of its time is left.
    fn is_good_for(&self, origin: Origin, terms: Terms, now: Timestamp) -> bool {
        let left = self.expires.as_second().saturating_sub(now.as_second());
        let same = (self.origin, self.allowed, self.life) == (origin, terms.uses, terms.life);
        same && self.left > 0 && self.is_live(now) && left > seconds(self.life) / 2
    }
}

impl fmt::Display for LiveInvite {
    /// Writes what is known of it, without its secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invite {}", self.name)?;
        if !self.label.is_empty() {
            write!(f, " for {}", self.label)?;
        }
        if !self.cameras.is_none() {
            write!(f, " to {}", self.cameras)?;
        }
        let peers = if self.allowed == 1 { "peer" } else { "peers" };
        write!(f, ": {} {peers}, until {}", self.allowed, self.expires)
    }
}

fn seconds(life: Duration) -> i64 {
    i64::try_from(life.as_secs()).unwrap_or(i64::MAX)
}

/// The peers and invites of one listening end.
#[derive(Clone, Default)]
pub struct PeerLists {
    pub(super) peers: Roll,
    /// Oldest first.
    pub(super) invites: Vec<LiveInvite>,
    /// Counts the changes.
    pub(super) version: u64,
}

/// The decision on a peer that proved its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It proved the secret of its enrolment, or was allowed by its id.
    Known,
    /// It proved this invite, which enrols it.
    Enrols(PskName),
    /// It stays out.
    Refused(Refusal),
}

/// Reason why a peer stays out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is on no list and proved nothing.
    Unknown,
    /// It is enrolled and proved neither its secret nor its invite.
    Unproved,
    /// It proved the secret of another peer.
    SecretOfAnother,
    /// Its invite has enrolled as many peers as it may.
    InviteUsed,
    /// Its invite has expired.
    InviteExpired,
    /// As many peers are enrolled as an end may have.
    TooManyEnrolled,
    /// Everybody is admitted or enrolled, but all places are taken.
    NoPlace,
    /// This end does not have what the peer's wish asks for, for this reason.
    NotOffered(&'static str),
}

impl Refusal {
    /// The reason of the close message.
    pub fn reason(self) -> CloseReason {
        match self {
            Self::NoPlace => CloseReason::TooManyViewers,
            Self::NotOffered(_) => CloseReason::NotOffered,
            _ => CloseReason::NotAuthorised,
        }
    }

    /// The text of the close message. Advice stands after a semicolon, where that for its reason would be another.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unknown => "not on the allow list and no valid invite",
            Self::Unproved => "enrolled, but the secret of the enrolment was not proved",
            Self::SecretOfAnother => "the secret of another peer was proved",
            Self::InviteUsed => "this invite has been used",
            Self::InviteExpired => "this invite has expired",
            Self::TooManyEnrolled => {
                "as many peers are enrolled as one end may have; have one removed, or your peer id allowed"
            }
            Self::NoPlace => "all places are taken",
            Self::NotOffered(why) => why,
        }
    }
}

/// A change of the lists. It can be applied again to lists that were read anew.
#[derive(Clone)]
pub enum Edit {
    /// Enrol a peer that proved an invite, with the secret that both keep.
    Enrol {
        /// The peer.
        id: PeerId,
        /// The secret of its later handshakes.
        secret: PresharedKey,
        /// The invite that it proved.
        invite: PskName,
        /// Today, in universal time.
        today: Date,
    },
    /// Add an invite. Nothing changes if there is no room for it.
    Invite(LiveInvite),
    /// List a peer by its id alone.
    Allow {
        /// The peer.
        id: PeerId,
        /// Today, in universal time.
        today: Date,
        /// One line of text for the user.
        comment: String,
    },
    /// Give a peer another comment.
    Rename {
        /// The peer.
        id: PeerId,
        /// One line of text for the user.
        comment: String,
    },
    /// Let a peer watch one camera less, and withdraw its invite as [`Remove`](Self::Remove) does. The peer is removed
    /// if that leaves none.
    TakeCamera(PeerId, String),
    /// Remove a peer. An invite that enrolled it and still has uses is withdrawn: the peer knows it.
    Remove(PeerId),
    /// Withdraw an invite, or all of them.
    Withdraw {
        /// The invite; `None` for all.
        invite: Option<PskName>,
        /// Also remove the peers that it enrolled.
        with_peers: bool,
    },
}

impl Edit {
    /// True if it lists a peer, so that one more listed means that nothing was said of it before.
    pub(super) fn lists(&self) -> bool {
        matches!(self, Self::Enrol { .. } | Self::Allow { .. })
    }

    /// True if it changes no peer.
    pub(super) fn spares_peers(&self) -> bool {
        matches!(self, Self::Invite(_) | Self::Withdraw { with_peers: false, .. })
    }

    /// True if applying this edit after `other` leaves nothing of the other.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Enrol { id, invite, .. },
                Self::Enrol {
                    id: before, invite: by, ..
                },
            ) => id == before && invite == by,
            _ => false,
        }
    }
}

impl PeerLists {
    pub(super) fn peer(&self, id: &PeerId) -> Option<&ListedPeer> {
        self.peers.peer(id)
    }

    /// The name of a peer; nothing if it is not listed.
    pub(crate) fn label(&self, id: &PeerId) -> &str {
        self.peer(id).map_or("", |peer| &peer.comment)
    }

    pub(crate) fn invite(&self, name: PskName) -> Option<&LiveInvite> {
        self.invites.iter().find(|invite| invite.name == name)
    }

    /// The pre-shared keys that a peer may prove, at most [`MAX_PSKS`]: of the unexpired invites, then of the enrolled
    /// peers.
    pub fn psks(&self, now: Timestamp) -> Vec<PresharedKey> {
        let live = self.invites.iter().filter(|invite| invite.is_live(now));
        let invites = live.map(|invite| PresharedKey::from_invite(&invite.invite));
        let enrolments = self.peers.iter().filter_map(|peer| peer.enrolment.as_ref());
        let secrets = enrolments.map(|enrolment| enrolment.secret.clone());
        invites.chain(secrets).collect()
    }

    /// Counts the changes of these lists.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The first moment at which one of the invites is worth nothing any more.
    pub fn next_expiry(&self, now: Timestamp) -> Option<Timestamp> {
        let expiries = self.invites.iter().map(|invite| invite.expires);
        expiries.filter(|expires| now < *expires).min()
    }

    /// The enrolled peers, each with the secret that it and this end keep, and the secret's name.
    pub fn enrolled(&self) -> impl Iterator<Item = (PeerId, PskName, &PresharedKey)> {
        let enrolled = self
            .peers
            .iter()
            .filter_map(|peer| Some((peer.id, peer.enrolment.as_ref()?)));
        enrolled.map(|(id, enrolment)| (id, enrolment.name, &enrolment.secret))
    }

    /// Decide on a peer that proved its identity and perhaps a pre-shared key.
    pub fn judge(&self, peer: &Peer, now: Timestamp) -> Decision {
        let listed = self.peer(&peer.id);
        let allowed = listed.is_some_and(|listed| listed.enrolment.is_none());
        let unproved = match listed {
            Some(_) => Refusal::Unproved,
            None => Refusal::Unknown,
        };
        let Some(psk) = peer.psk else {
            return if allowed {
                Decision::Known
            } else {
                Decision::Refused(unproved)
            };
        };
        if let Some(owner) = self.peers.owner(psk) {
            return match owner.id == peer.id {
                true => Decision::Known,
                false => Decision::Refused(Refusal::SecretOfAnother),
            };
        }
        let Some(invite) = self.invite(psk) else {
            return Decision::Refused(unproved);
        };
        let enrolled_by = listed
            .and_then(|peer| peer.enrolment.as_ref())
            .map(|enrolment| enrolment.invite);
        if !invite.is_live(now) {
            Decision::Refused(Refusal::InviteExpired)
        } else if enrolled_by == Some(psk) {
            Decision::Enrols(psk)
        } else if invite.left == 0 {
            Decision::Refused(Refusal::InviteUsed)
        } else if listed.is_none() && self.peers.is_full() {
            Decision::Refused(Refusal::TooManyEnrolled)
        } else {
            Decision::Enrols(psk)
        }
    }

    /// True if a peer is still listed. `proved` says whether it proved a secret when it was admitted: who is enrolled
    /// must have.
    pub fn admits(&self, id: &PeerId, proved: bool) -> bool {
        self.peer(id).is_some_and(|peer| proved || peer.enrolment.is_none())
    }

    /// The cameras that a peer may watch that proved its identity, and perhaps a pre-shared key: those of the invite
    /// that it comes by are added to those that it has.
    pub fn cameras_of(&self, peer: &Peer) -> CameraLimit {
        let invite = peer.psk.and_then(|psk| self.invite(psk));
        match (self.peer(&peer.id), invite) {
            (Some(listed), Some(invite)) if listed.enrolment.as_ref().map(|by| by.invite) != Some(invite.name) => {
                listed.cameras.clone().and(&invite.cameras)
            }
            (Some(listed), _) => listed.cameras.clone(),
            (None, Some(invite)) => invite.cameras.clone(),
            (None, None) => CameraLimit::default(),
        }
    }

    /// The invite that a start prints again instead of making one of these terms and origin.
    pub fn printed_before(&self, origin: Origin, terms: Terms, now: Timestamp) -> Option<&LiveInvite> {
        let mut newest = self.invites.iter().rev();
        newest.find(|invite| invite.is_good_for(origin, terms, now))
    }

    /// Number of invites that there is room for: those that enrol nobody any more make room.
    pub fn room_for_invites(&self, now: Timestamp) -> usize {
        let live = |invite: &&LiveInvite| invite.left > 0 && invite.is_live(now);
        MAX_INVITES.saturating_sub(self.invites.iter().filter(live).count())
    }

    /// Make a change.
    pub fn apply(&mut self, edit: &Edit, now: Timestamp) {
        self.version += 1;
        match edit {
            Edit::Enrol {
                id,
                secret,
                invite,
                today,
            } => self.enrol(*id, Enrolment::new(secret.clone(), *invite), *today),
            Edit::Invite(invite) => {
                self.withdraw_where(|other| other.name == invite.name || other.expires <= now);
                if self.invites.len() >= MAX_INVITES {
                    let mut all = self.invites.iter();
                    let over = all.position(|other| other.left == 0 || !other.is_live(now));
                    over.map(|at| self.invites.remove(at));
                }
                if self.invites.len() < MAX_INVITES {
                    self.invites.push(invite.clone());
                }
            }
            Edit::Allow { id, today, comment } => {
                let since = self.peer(id).map_or(*today, |peer| peer.since);
                self.peers.put(ListedPeer {
                    id: *id,
                    enrolment: None,
                    since,
                    comment: comment.clone(),
                    cameras: CameraLimit::default(),
                });
            }
            Edit::Rename { id, comment } => {
                if let Some(peer) = self.peer(id).cloned() {
                    let comment = comment.clone();
                    self.peers.put(ListedPeer { comment, ..peer });
                }
            }
            Edit::TakeCamera(id, camera) => match self.peer(id).cloned() {
                None => {}
                Some(peer) => match peer.cameras.clone().without(camera) {
                    Some(cameras) => {
                        self.withdraw_known_to(id);
                        self.peers.put(ListedPeer { cameras, ..peer });
                    }
                    None => self.apply(&Edit::Remove(*id), now),
                },
            },
            Edit::Remove(id) => {
                self.withdraw_known_to(id);
                self.peers.retain(|peer| peer.id != *id);
            }
            Edit::Withdraw { invite, with_peers } => {
                let meant = |name: PskName| invite.is_none_or(|only| only == name);
                self.withdraw_where(|invite| meant(invite.name));
                if *with_peers {
                    let enrolled = |peer: &ListedPeer| peer.enrolment.as_ref().map(|enrolment| enrolment.invite);
                    self.peers.retain(|peer| !enrolled(peer).is_some_and(meant));
                }
            }
        }
    }

    /// Withdraws the invite that enrolled a peer, if it has uses left: the peer knows it.
    fn withdraw_known_to(&mut self, id: &PeerId) {
        let by = self.peer(id).and_then(|peer| peer.enrolment.as_ref());
        if let Some(by) = by.map(|enrolment| enrolment.invite) {
            self.withdraw_where(|invite| invite.name == by && invite.left > 0);
        }
    }

    fn withdraw_where(&mut self, which: impl Fn(&LiveInvite) -> bool) {
        self.invites.retain(|invite| !which(invite));
    }

    /// Enrol a peer, or replace the secret of one that is listed. Only a peer that is new, or may watch more cameras by
    /// the invite than before, costs a use, and inherits the invite's label if it has no comment.
    fn enrol(&mut self, id: PeerId, enrolment: Enrolment, today: Date) {
        let before = self.peer(&id);
        let granted = self
            .invite(enrolment.invite)
            .map(|invite| invite.cameras.clone())
            .unwrap_or_default();
        let (since, mut comment) = before.map_or((today, String::new()), |peer| (peer.since, peer.comment.clone()));
        let again = before
            .and_then(|peer| peer.enrolment.as_ref())
            .is_some_and(|earlier| earlier.invite == enrolment.invite);
        let (cameras, costs) = match before {
            Some(peer) if again => (peer.cameras.clone(), false),
            Some(peer) => {
                let all = peer.cameras.clone().and(&granted);
                let more = all != peer.cameras;
                (all, more)
            }
            None => (granted, true),
        };
        if let Some(invite) = self.invite(enrolment.invite).filter(|_| costs && comment.is_empty()) {
            comment.clone_from(&invite.label);
        }
        if costs && let Some(invite) = self.invites.iter_mut().find(|invite| invite.name == enrolment.invite) {
            invite.left = invite.left.saturating_sub(1);
        }
        self.peers.put(ListedPeer {
            id,
            enrolment: Some(enrolment),
            since,
            comment,
            cameras,
        });
    }
}
