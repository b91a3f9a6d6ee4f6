//! Admission of peers, and the end of the sessions of those that are admitted no more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use jiff::Timestamp;
use sealcast_proto::keys::{HelloKeys, Invite, Peer, PeerId, PresharedKey, PskName};
use sealcast_proto::wire::{CloseReason, Ticket};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;

use super::admitted_places::{AdmittedPlace, AdmittedPlaces, NoPlace};
use super::attendance::Attendance;
use super::overview::{by_peer, with_labels};
use super::registry::Seer;
use crate::failure::Result;
use crate::keys::allow::AllowList;
use crate::keys::entropy;
use crate::keys::peers::{
    CameraLimit, Decision, Edit, InviteRequest, LiveInvite, Origin, PeerLists, PeerStore, PeersCommand, Refusal, Terms,
    no_room, overview, read_lists, unlisted,
};
use crate::overview::{AdmittedBy, PeerRow, PeersOverview, SessionRow};
use crate::platform::wall_time::wall_time;

/// Text of the close message to a peer that is admitted no more.
pub(crate) const REVOKED: &str = "not admitted any more: removed from the lists";
/// Text of the close message to a session whose place another one has.
const REPLACED: &str = "all places were taken, and another session has the place of this one";
/// The same to a viewer beside a relay whose challenges were answered.
const ANSWERED: &str = "all places were taken, and another viewer waits for its answer";

/// Decides on peers that have proved their identity. Only who changes the lists waits for a disk.
pub struct Admission {
    by_hand: RwLock<ByHand>,
    store: Mutex<PeerStore>,
    /// Those of the store.
    lists: Arc<RwLock<PeerLists>>,
    /// The sessions that stand.
    attendance: Arc<Attendance>,
    hello_keys: Mutex<Option<KeptKeys>>,
    /// Counts the changes of the rules by which somebody may be admitted no more.
    changes: watch::Sender<u64>,
    /// Counts these changes, and those that enrol somebody.
    enrolments: watch::Sender<u64>,
}

/// The keys of hellos to this end. They are kept, so that a flood of connections does not cost them each time.
struct KeptKeys {
    keys: Arc<HelloKeys>,
    /// When the first of their invites expires.
    until: Option<Timestamp>,
    /// Version of the lists whose keys they are.
    version: u64,
}

/// Settings by the user's hand: the allow list, and whether everybody is admitted.
pub struct ByHand {
    /// Peers that are admitted by their ids.
    pub allow: AllowList,
    /// True to admit everybody.
    pub open: bool,
    /// Archive's nodes: they are admitted by their ids as well, and get nothing that they could open.
    pub archive_nodes: Vec<PeerId>,
}

/// Facts that decide on a peer, besides the lists.
pub(crate) struct Entry<'a> {
    /// The places of those that are admitted.
    pub(crate) places: &'a Arc<AdmittedPlaces>,
    /// True if it is known that the peer receives what is sent to it: it takes a place at once.
    pub(crate) heard: bool,
    /// The relay that the session goes through.
    pub(crate) relay: Option<Arc<str>>,
    /// Reason why this end does not have what the peer wishes, if it has not.
    pub(crate) lacks: Option<&'static str>,
    /// Monotonic time.
    pub(crate) now: Duration,
}

/// Reason why the session of an admitted peer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dismissal {
    /// The peer is admitted no more.
    Revoked,
    /// Another session has its place.
    Replaced,
    /// The same, once its challenges were answered: it goes on without.
    Answered,
}

/// Admission of a peer. A session keeps it, to learn when that holds no more.
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    changes: watch::Receiver<u64>,
    id: PeerId,
    /// True if the peer proved a secret of ours.
    proved: bool,
    /// Its place among those that are admitted.
    pub(crate) place: AdmittedPlace,
    /// True if it was enrolled just now.
    pub(crate) enrolled: bool,
}

impl Admission {
    /// Admits the peers that are written by hand, those in the store, and those that prove its invites.
    pub fn new(by_hand: ByHand, store: PeerStore) -> Self {
        let admission = Self {
            by_hand: RwLock::new(by_hand),
            lists: store.shared_lists(),
            attendance: Attendance::new(store.folder()),
            store: Mutex::new(store),
            hello_keys: Mutex::new(None),
            changes: watch::Sender::new(0),
            enrolments: watch::Sender::new(0),
        };
        admission.forget_strangers();
        admission
    }

    /// Admits nobody without an invite, and forgets everything at exit.
    pub fn in_memory() -> Self {
        let nobody = ByHand {
            allow: AllowList::empty(),
            open: false,
            archive_nodes: Vec::new(),
        };
        Self::new(nobody, PeerStore::in_memory())
    }

    // Each statement leaves what is locked consistent, so a panic in another thread does no harm.
    fn store(&self) -> MutexGuard<'_, PeerStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn by_hand(&self) -> RwLockReadGuard<'_, ByHand> {
        self.by_hand.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lists(&self) -> RwLockReadGuard<'_, PeerLists> {
        read_lists(&self.lists)
    }

    /// Make an invite of these terms.
    ///
    /// # Errors
    /// As [`InviteRequest::make`].
    pub fn invite(&self, terms: Terms) -> Result<Invite> {
        let (live, _) = self.invite_for(&InviteRequest::new(terms, "", CameraLimit::default())?)?;
        Ok(live.invite)
    }

    /// Make an invite for somebody. Returns what to add to an answer about it, too.
    ///
    /// # Errors
    /// As [`InviteRequest::make`].
    pub(crate) fn invite_for(&self, request: &InviteRequest) -> Result<(LiveInvite, String)> {
        let (live, kept) = aside(|| request.make(&mut self.store(), wall_time()))?;
        tell_of_invite(&live);
        Ok((live, kept))
    }

    /// The invites for the tickets of a start: those that an earlier start printed, as long as most of their time is
    /// left, or else new ones, which are worth nothing before [`keep`](Self::keep). `None` where there is no room.
    ///
    /// # Errors
    /// The system provides no random bytes.
    pub fn invites_of_start(&self, tickets: &[Ticket], terms: Terms) -> Result<Vec<Option<LiveInvite>>> {
        let now = wall_time();
        self.store().read_again(now);
        let lists = self.lists();
        let (mut room, mut before) = (lists.room_for_invites(now), Vec::new());
        let invite = |ticket: &Ticket| {
            before.push(ticket.transport);
            let number = before.iter().filter(|carrier| **carrier == ticket.transport).count() - 1;
            let origin = Origin::Start(ticket.transport, u8::try_from(number).unwrap_or(u8::MAX));
            if let Some(printed) = lists.printed_before(origin, terms, now) {
                return Ok(Some(printed.clone()));
            }
            if room == 0 {
                tracing::warn!("a ticket has no invite: {}", no_room());
                return Ok(None);
            }
            room -= 1;
            let invite = Invite::new(entropy::random()?);
            Ok(Some(LiveInvite::new(invite, terms, origin, now)))
        };
        tickets.iter().map(invite).collect()
    }

    /// Keep the invites of a start. They are valid although they could not be written, which is logged, but then only
    /// until exit. Returns the names of those that were not kept before.
    pub fn keep(&self, invites: impl IntoIterator<Item = LiveInvite>) -> Vec<PskName> {
        let (now, mut store) = (wall_time(), self.store());
        let mut kept = Vec::new();
        for live in invites {
            if self.lists().invite(live.name).is_none() {
                tell_of_invite(&live);
                kept.push(live.name);
                store.edit_or_warn(Edit::Invite(live), now);
            }
        }
        kept
    }

    /// Withdraw invites that nobody got.
    pub fn take_back(&self, invites: Vec<PskName>) {
        let (now, mut store) = (wall_time(), self.store());
        for invite in invites {
            let withdraw = Edit::Withdraw {
                invite: Some(invite),
                with_peers: false,
            };
            store.edit_or_warn(withdraw, now);
        }
    }

    /// The keys of hellos to this end, `own`, with the pre-shared keys that are known now.
    pub(crate) fn hello_keys(&self, own: PeerId) -> Arc<HelloKeys> {
        let now = wall_time();
        let mut kept = self.hello_keys.lock().unwrap_or_else(PoisonError::into_inner);
        let lists = self.lists();
        let version = lists.version();
        if let Some(kept) = &*kept
            && kept.version == version
            && kept.until.is_none_or(|until| now < until)
        {
            return Arc::clone(&kept.keys);
        }
        let (psks, until) = (lists.psks(now), lists.next_expiry(now));
        drop(lists);
        let keys = Arc::new(match &*kept {
            Some(kept) => kept.keys.renewed(&psks),
            None => HelloKeys::new(&own, &psks),
        });
        *kept = Some(KeptKeys {
            keys: Arc::clone(&keys),
            until,
            version,
        });
        keys
    }

    /// Read the lists again that the program writes, and replace what the user has written. Sessions of peers that are
    /// admitted no more end.
    pub fn renew(&self, by_hand: ByHand) {
        *self.by_hand.write().unwrap_or_else(PoisonError::into_inner) = by_hand;
        self.store().read_again(wall_time());
        self.tell();
    }

    /// Run a command about peers. Returns its answer.
    ///
    /// # Errors
    /// As [`PeersCommand::run`].
    pub(crate) fn command(&self, command: &PeersCommand) -> Result<String> {
        let answer = aside(|| command.run(&mut self.store(), &self.by_hand().allow, wall_time()));
        self.tell();
        answer
    }

    /// Those that are enrolled, each with the secret that it and this end keep, and the secret's name.
    pub(crate) fn enrolled(&self) -> Vec<(PeerId, PskName, PresharedKey)> {
        let lists = self.lists();
        // An archive's node keeps no key, even if it was a viewer before.
        let enrolled = lists.enrolled().filter(|(id, ..)| !self.is_archive_node(id));
        enrolled.map(|(id, name, secret)| (id, name, secret.clone())).collect()
    }

    /// Turns whenever others may be enrolled than before.
    pub(crate) fn enrolments(&self) -> watch::Receiver<u64> {
        self.enrolments.subscribe()
    }

    /// Tell the sessions that the rules may have changed.
    fn tell(&self) {
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
        self.tell_of_enrolment();
        self.forget_strangers();
    }

    fn tell_of_enrolment(&self) {
        self.enrolments
            .send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// The sessions that stand.
    pub(crate) fn attendance(&self) -> &Arc<Attendance> {
        &self.attendance
    }

    /// When those were here last who are admitted no more is nobody's business.
    fn forget_strangers(&self) {
        let (by_hand, lists) = (self.by_hand(), self.lists());
        self.attendance
            .forget_others(|id| lists.admits(id, true) || by_hand.admits(id));
    }

    /// The sessions that stand, each with what its peer is called.
    pub(crate) fn sessions(&self) -> Vec<SessionRow> {
        let lists = self.lists();
        with_labels(self.attendance.sessions(), |id| lists.label(id).to_owned())
    }

    /// Overview of whom the lists admit, and who is here.
    pub(crate) fn overview(&self) -> PeersOverview {
        let mut sessions = by_peer(self.sessions());
        let by_hand = self.by_hand();
        let last_seen = |id: &PeerId| self.attendance.last_seen(id);
        let mut overview = overview(&self.lists(), &by_hand.allow, last_seen, wall_time());
        let node = |id: &PeerId| unlisted(id, String::new(), AdmittedBy::ArchiveNode);
        let nodes: Vec<PeerRow> = by_hand.archive_nodes.iter().map(node).collect();
        overview
            .peers
            .retain(|peer| nodes.iter().all(|node| node.id != peer.id));
        overview.peers.extend(nodes);
        for peer in &mut overview.peers {
            peer.sessions = sessions.remove(&peer.id).unwrap_or_default();
        }
        let others = sessions.into_values().filter_map(|sessions| {
            let id = PeerId::parse(&sessions.first()?.peer)?;
            let stranger = unlisted(&id, String::new(), AdmittedBy::Open);
            Some(PeerRow { sessions, ..stranger })
        });
        overview.peers.extend(others);
        overview.running = true;
        overview
    }

    /// Decide on a peer that has proved its identity. If its invite enrols it, `secret` gives what both ends keep.
    pub(crate) fn admit(
        self: &Arc<Self>,
        peer: &Peer,
        entry: Entry<'_>,
        secret: impl FnOnce() -> Option<PresharedKey>,
    ) -> std::result::Result<Admitted, Refusal> {
        let (changes, wall) = (self.changes.subscribe(), wall_time());
        let decision = self.judge(peer, wall);
        if let Decision::Refused(refusal) = decision {
            return Err(refusal);
        }
        // These come first: who gets nothing has used nothing up.
        if let Some(why) = entry.lacks {
            return Err(Refusal::NotOffered(why));
        }
        let place = entry.places.enter(peer.id, entry.heard, entry.relay, entry.now);
        let place = place.map_err(|NoPlace| Refusal::NoPlace)?;
        let (proved, enrolled) = match decision {
            Decision::Enrols(_) => aside(|| self.enrol(peer, wall, secret))?,
            settled => (self.settled(settled, peer, wall)?, false),
        };
        Ok(Admitted {
            admission: Arc::clone(self),
            changes,
            id: peer.id,
            proved,
            place,
            enrolled,
        })
    }

    fn judge(&self, peer: &Peer, now: Timestamp) -> Decision {
        let by_hand = self.by_hand().admits(&peer.id);
        if self.is_archive_node(&peer.id) {
            return Decision::Known;
        }
        match self.lists().judge(peer, now) {
            // Who proves an invite keeps a secret of this handshake. If this end does not, the two never meet again.
            decision if peer.psk.is_some() => decision,
            _ if by_hand => Decision::Known,
            decision => decision,
        }
    }

    /// Returns whether an admitted peer proved a secret.
    fn settled(&self, decision: Decision, peer: &Peer, now: Timestamp) -> std::result::Result<bool, Refusal> {
        match decision {
            Decision::Refused(refusal) => Err(refusal),
            Decision::Known | Decision::Enrols(_) => Ok(self.lists().judge(peer, now) == Decision::Known),
        }
    }

    /// Decide again, and enrol. Returns whether the peer proved a secret, and whether it was enrolled just now.
    fn enrol(
        &self,
        peer: &Peer,
        now: Timestamp,
        secret: impl FnOnce() -> Option<PresharedKey>,
    ) -> std::result::Result<(bool, bool), Refusal> {
        let mut store = self.store();
        let before = store.readings();
        // A command may have withdrawn the invite in the meantime, or another peer has used it up.
        store.read_again(now);
        let outcome = match self.judge(peer, now) {
            Decision::Enrols(invite) => secret().ok_or(Refusal::Unproved).map(|secret| {
                let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
                let id = peer.id;
                let edit = Edit::Enrol {
                    id,
                    secret,
                    invite,
                    today,
                };
                store.edit_or_warn(edit, now);
                (true, true)
            }),
            settled => self.settled(settled, peer, now).map(|proved| (proved, false)),
        };
        // A command may have removed somebody. If not, thousands of sessions need not hear of each other's beginning.
        if store.readings() != before {
            self.tell();
        } else if let Ok((_, true)) = outcome {
            self.tell_of_enrolment();
        }
        outcome
    }

    /// The cameras that a peer may see that is enrolled, or admitted by its id.
    pub(crate) fn seer_of(&self, id: &PeerId) -> Seer {
        self.seer(&Peer {
            id: *id,
            psk: None,
            wish: None,
        })
    }

    /// The cameras that a peer may see.
    pub(crate) fn seer(&self, peer: &Peer) -> Seer {
        let by_hand = self.by_hand().admits(&peer.id);
        let limit = match by_hand {
            true => CameraLimit::default(),
            false => self.lists().cameras_of(peer),
        };
        Seer { peer: peer.id, limit }
    }

    /// True if the peer is an archive's node.
    pub(crate) fn is_archive_node(&self, id: &PeerId) -> bool {
        self.by_hand().archive_nodes.contains(id)
    }

    /// True if a peer that was admitted before would be admitted again.
    fn admits(&self, id: &PeerId, proved: bool) -> bool {
        self.by_hand().admits(id) || self.lists().admits(id, proved)
    }
}

impl ByHand {
    fn admits(&self, id: &PeerId) -> bool {
        self.open || self.allow.contains(id) || self.archive_nodes.contains(id)
    }
}

fn tell_of_invite(live: &LiveInvite) {
    tracing::info!(invite = %live.name, uses = live.allowed, expires = %live.expires, "a new invite");
}

/// Does what may wait for a disk, while another thread takes over the tasks of this one, if this program has several.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

impl Dismissal {
    /// Reason and text of the close message.
    pub(crate) fn words(self) -> (CloseReason, &'static str) {
        match self {
            Self::Revoked => (CloseReason::NotAuthorised, REVOKED),
            Self::Replaced => (CloseReason::Replaced, REPLACED),
            Self::Answered => (CloseReason::Replaced, ANSWERED),
        }
    }
}

impl Admitted {
    /// Waits until the peer is admitted no more, or another session has its place.
    pub(crate) fn dismissal(&self) -> impl Future<Output = Dismissal> + Send + use<> {
        let (admission, mut changes) = (Arc::clone(&self.admission), self.changes.clone());
        let (id, proved, replaced) = (self.id, self.proved, self.place.replaced());
        let unlisted = async move {
            // It fails only without an admission, and this has one.
            while changes.changed().await.is_ok() && admission.admits(&id, proved) {}
        };
        async {
            tokio::select! {
                answered = replaced => match answered {
                    true => Dismissal::Answered,
                    false => Dismissal::Replaced,
                },
                () = unlisted => Dismissal::Revoked,
            }
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
