//! The peers of one listening end, in the order in which they were listed, found by their ids and by their secrets.

use std::collections::HashMap;

use jiff::civil::Date;
use sealcast_proto::group::MAX_MEMBERS;
use sealcast_proto::keys::{PeerId, PresharedKey, PskName};

use super::limit::CameraLimit;

/// Maximum number of peers that an end lists: enrolled by an invite, or allowed by a command.
pub const MAX_ENROLLED: usize = 12_288;

/// Members of a group that have no enrolment, but a session: those allowed by their ids, pages, and who is enrolled and
/// hears the camera directly.
const MEMBERS_BY_SESSION: usize = 4096;

const _: () = assert!(
    MAX_ENROLLED + MEMBERS_BY_SESSION <= MAX_MEMBERS,
    "all who are enrolled are members of a group that relays carry"
);

/// Secret that an enrolled peer and this end keep.
#[derive(Clone)]
pub(super) struct Enrolment {
    pub(super) secret: PresharedKey,
    /// Public name of the secret.
    pub(super) name: PskName,
    /// The invite that enrolled the peer.
    pub(super) invite: PskName,
}

impl Enrolment {
    pub(super) fn new(secret: PresharedKey, invite: PskName) -> Self {
        Self {
            name: secret.name(),
            secret,
            invite,
        }
    }
}

/// A peer that this end lists.
#[derive(Clone)]
pub(super) struct ListedPeer {
    pub(super) id: PeerId,
    /// `None` for a peer that was allowed by its id alone.
    pub(super) enrolment: Option<Enrolment>,
    /// The day on which it was first listed, in universal time.
    pub(super) since: Date,
    pub(super) comment: String,
    /// The cameras that it may watch.
    pub(super) cameras: CameraLimit,
}

/// The peers, at most [`MAX_ENROLLED`], each once.
#[derive(Clone, Default)]
pub(super) struct Roll {
    peers: Vec<ListedPeer>,
    by_id: HashMap<PeerId, usize>,
    by_secret: HashMap<PskName, usize>,
}

impl Roll {
    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.peers.len() >= MAX_ENROLLED
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, ListedPeer> {
        self.peers.iter()
    }

    /// The peers from the one of this number on.
    pub(super) fn since(&self, first: usize) -> &[ListedPeer] {
        self.peers.get(first..).unwrap_or_default()
    }

    pub(super) fn peer(&self, id: &PeerId) -> Option<&ListedPeer> {
        self.by_id.get(id).map(|&at| &self.peers[at])
    }

    /// The peer that keeps the secret of this name.
    pub(super) fn owner(&self, secret: PskName) -> Option<&ListedPeer> {
        self.by_secret.get(&secret).map(|&at| &self.peers[at])
    }

    /// Lists a peer, in place of what was said of it before. Nothing changes if it is new and there is no room.
    pub(super) fn put(&mut self, peer: ListedPeer) {
        let at = match self.by_id.get(&peer.id) {
            Some(&at) => at,
            None if self.is_full() => return,
            None => self.peers.len(),
        };
        let secret = peer.enrolment.as_ref().map(|enrolment| enrolment.name);
        if let Some(before) = self.peers.get_mut(at) {
            if let Some(name) = before.enrolment.as_ref().map(|enrolment| enrolment.name)
                && self.by_secret.get(&name) == Some(&at)
            {
                self.by_secret.remove(&name);
            }
            *before = peer;
        } else {
            self.by_id.insert(peer.id, at);
            self.peers.push(peer);
        }
        if let Some(name) = secret {
            // Two peers have one secret only if somebody wrote that into the file: then it is the first one's.
            self.by_secret.entry(name).or_insert(at);
        }
    }

    /// Leaves only those of whom this is true.
    pub(super) fn retain(&mut self, stays: impl Fn(&ListedPeer) -> bool) {
        let mut stayed = Self::default();
        for peer in std::mem::take(&mut self.peers).into_iter().filter(stays) {
            stayed.put(peer);
        }
        *self = stayed;
    }
}
