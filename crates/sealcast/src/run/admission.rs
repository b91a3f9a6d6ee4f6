//! Admission of peers, and the end of the sessions of those that are admitted no more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use jiff::Timestamp;
use sealcast_proto::keys::{HelloKeys, Invite, Peer, PeerId, PresharedKey, PskName};
use sealcast_proto::wire::{CloseReason, Ticket};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;

use super::admitted_places::{AdmittedPlace, AdmittedPlaces, NoPlace};
use super::registry::Seer;
use crate::failure::Result;
use crate::keys::allow::AllowList;
use crate::keys::entropy;
use crate::keys::peers::{
    CameraLimit, Decision, Edit, InviteRequest, LiveInvite, Origin, PeerLists, PeerStore, PeersCommand, Refusal, Terms,
    no_room, read_lists,
};
use crate::platform::wall_time::wall_time;

/// Text of the close message to a peer that is admitted no more.
pub(super) const REVOKED: &str = "not admitted any more: removed from the lists";
/// Text of the close message to a session whose place another one has.
const REPLACED: &str = "all places were taken, and another session has the place of this one";
/// The same to a viewer beside a relay whose challenges were answered.
const ANSWERED: &str = "all places were taken, and another viewer waits for its answer: ask again in a minute";

/// Decides on peers that have proved their identity. Only who changes the lists waits for a disk.
pub struct Admission {
    by_hand: RwLock<ByHand>,
    store: Mutex<PeerStore>,
    /// Those of the store.
    lists: Arc<RwLock<PeerLists>>,
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

/// What the user has written: the allow list, and whether everybody is admitted.
pub struct ByHand {
    /// Peers that are admitted by their ids.
    pub allow: AllowList,
    /// True to admit everybody.
    pub open: bool,
    /// Archive's nodes: they are admitted by their ids as well, and get nothing that they could open.
    pub archive_nodes: Vec<PeerId>,
}

/// What decides, besides the lists, on a peer.
pub(super) struct Entry<'a> {
    /// The places of those that are admitted.
    pub(super) places: &'a Arc<AdmittedPlaces>,
    /// True if it is known that the peer receives what is sent to it: it takes a place at once.
    pub(super) heard: bool,
    /// The relay that the session goes through.
    pub(super) relay: Option<Arc<str>>,
    /// Why this end does not have what the peer wishes, if it has not.
    pub(super) lacks: Option<&'static str>,
    /// Monotonic time.
    pub(super) now: Duration,
}

/// Reason why the session of an admitted peer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dismissal {
    /// The peer is admitted no more.
    Revoked,
    /// Another session has its place.
    Replaced,
    /// The same, once its challenges were answered: it goes on without.
    Answered,
}

/// How a peer was admitted. A session keeps it, to learn when that holds no more.
pub(super) struct Admitted {
    admission: Arc<Admission>,
    changes: watch::Receiver<u64>,
    id: PeerId,
    /// True if the peer proved a secret of ours.
    proved: bool,
    /// Its place among those that are admitted.
    pub(super) place: AdmittedPlace,
    /// True if it was enrolled just now.
    pub(super) enrolled: bool,
}

impl Admission {
    /// Admits the peers that are written by hand, those in the store, and those that prove its invites.
    pub fn new(by_hand: ByHand, store: PeerStore) -> Self {
        Self {
            by_hand: RwLock::new(by_hand),
            lists: store.shared_lists(),
            store: Mutex::new(store),
            hello_keys: Mutex::new(None),
            changes: watch::Sender::new(0),
            enrolments: watch::Sender::new(0),
        }
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
    /// As [`InviteRequest::make_while_running`].
    pub fn invite(&self, terms: Terms) -> Result<Invite> {
        let live = self.invite_for(&InviteRequest::new(terms, "", CameraLimit::default())?)?;
        Ok(live.invite)
    }

    /// Make an invite for somebody.
    ///
    /// # Errors
    /// As [`InviteRequest::make_while_running`].
    pub(super) fn invite_for(&self, request: &InviteRequest) -> Result<LiveInvite> {
        let live = aside(|| request.make_while_running(&mut self.store(), wall_time()))?;
        tell_of_invite(&live);
        Ok(live)
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
    pub(super) fn hello_keys(&self, own: PeerId) -> Arc<HelloKeys> {
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
    pub(super) fn command(&self, command: &PeersCommand) -> Result<String> {
        let answer = aside(|| command.run(&mut self.store(), &self.by_hand().allow, wall_time()));
        self.tell();
        answer
    }

    /// Those that are enrolled, each with the secret that it and this end keep, and the secret's name.
    pub(super) fn enrolled(&self) -> Vec<(PeerId, PskName, PresharedKey)> {
        let lists = self.lists();
        // An archive's node keeps no key, even if it was a viewer before.
        let enrolled = lists.enrolled().filter(|(id, ..)| !self.is_archive_node(id));
        enrolled.map(|(id, name, secret)| (id, name, secret.clone())).collect()
    }

    /// Turns whenever others may be enrolled than before.
    pub(super) fn enrolments(&self) -> watch::Receiver<u64> {
        self.enrolments.subscribe()
    }

    /// Tell the sessions that the rules may have changed.
    fn tell(&self) {
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
        self.tell_of_enrolment();
    }

    fn tell_of_enrolment(&self) {
        self.enrolments
            .send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// Decide on a peer that has proved its identity. If its invite enrols it, `secret` gives what both ends keep.
    pub(super) fn admit(
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

    /// What a peer may see of the cameras.
    pub(super) fn seer(&self, peer: &Peer) -> Seer {
        let by_hand = self.by_hand().admits(&peer.id);
        let limit = match by_hand {
            true => CameraLimit::default(),
            false => self.lists().cameras_of(peer),
        };
        Seer { peer: peer.id, limit }
    }

    /// True if the peer is an archive's node.
    pub(super) fn is_archive_node(&self, id: &PeerId) -> bool {
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
    pub(super) fn words(self) -> (CloseReason, &'static str) {
        match self {
            Self::Revoked => (CloseReason::NotAuthorised, REVOKED),
            Self::Replaced => (CloseReason::Replaced, REPLACED),
            Self::Answered => (CloseReason::Replaced, ANSWERED),
        }
    }
}

impl Admitted {
    /// Wait until the peer is admitted no more, or another session has its place. Cancel-safe.
    pub(super) async fn ended(&mut self) -> Dismissal {
        loop {
            tokio::select! {
                () = self.place.replaced() => return self.replaced(),
                changed = self.changes.changed() => if changed.is_err() {
                    self.place.replaced().await;
                    return self.replaced();
                },
            }
            if !self.admission.admits(&self.id, self.proved) {
                return Dismissal::Revoked;
            }
        }
    }

    fn replaced(&self) -> Dismissal {
        match self.place.was_answered() {
            true => Dismissal::Answered,
            false => Dismissal::Replaced,
        }
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::keys::PskName;

    use super::*;

    type Outcome = std::result::Result<Admitted, Refusal>;

    fn by_hand(peers: &[u8], open: bool) -> ByHand {
        ByHand {
            allow: AllowList::of(peers.iter().map(|byte| PeerId([*byte; 32]))),
            open,
            archive_nodes: Vec::new(),
        }
    }

    fn admission(peers: &[u8], open: bool) -> (Arc<Admission>, PskName) {
        let admission = Admission::new(by_hand(peers, open), PeerStore::in_memory());
        let invite = admission.invite(Terms::hours(1, 1)).expect("there is room");
        (Arc::new(admission), PresharedKey::from_invite(&invite).name())
    }

    /// Decide on a peer, whose secret has the byte of its id.
    fn admit(admission: &Arc<Admission>, byte: u8, psk: Option<PskName>, places: usize) -> Outcome {
        let peer = Peer {
            id: PeerId([byte; 32]),
            psk,
            wish: None,
        };
        let entry = Entry {
            places: &AdmittedPlaces::new(places),
            heard: true,
            relay: None,
            lacks: None,
            now: Duration::ZERO,
        };
        admission.admit(&peer, entry, || Some(PresharedKey::new([byte; 32])))
    }

    #[test]
    fn an_invite_is_used_up_only_by_who_gets_a_place() {
        let (admission, invite) = admission(&[], false);
        assert_eq!(admit(&admission, 1, Some(invite), 0).err(), Some(Refusal::NoPlace));
        assert_eq!(
            admit(&admission, 2, None, 0).err(),
            Some(Refusal::Unknown),
            "it learns nothing of places"
        );
        assert!(admit(&admission, 3, Some(invite), 1).is_ok_and(|admitted| admitted.enrolled));
        assert_eq!(admit(&admission, 1, Some(invite), 1).err(), Some(Refusal::InviteUsed));
        let own = PresharedKey::new([3; 32]).name();
        assert!(admit(&admission, 3, Some(own), 1).is_ok_and(|admitted| !admitted.enrolled));
    }

    #[test]
    fn who_is_on_the_hand_written_list_needs_no_invite_and_is_judged_by_one_that_it_proves() {
        let (admission, invite) = admission(&[1], false);
        assert!(admit(&admission, 1, None, 1).is_ok_and(|admitted| !admitted.enrolled));
        assert!(admit(&admission, 2, Some(invite), 1).is_ok());
        let used = admit(&admission, 1, Some(invite), 1).err();
        assert_eq!(
            used,
            Some(Refusal::InviteUsed),
            "it would keep a secret that is not known here"
        );
    }

    #[test]
    fn everybody_is_let_in_only_when_asked_for() {
        let (open, invite) = admission(&[], true);
        assert!(admit(&open, 1, Some(invite), 1).is_ok_and(|admitted| admitted.enrolled));
        assert!(admit(&open, 2, None, 1).is_ok_and(|admitted| !admitted.enrolled));
    }

    #[test]
    fn keys_of_hellos_are_made_again_only_when_the_lists_have_changed() {
        let (admission, invite) = admission(&[], false);
        let own = PeerId([9; 32]);
        let keys = || admission.hello_keys(own);
        let first = keys();
        assert!(admit(&admission, 1, None, 1).is_err());
        assert!(Arc::ptr_eq(&first, &keys()), "nothing changed");
        assert!(admit(&admission, 1, Some(invite), 1).is_ok());
        let second = keys();
        assert!(!Arc::ptr_eq(&first, &second), "somebody was enrolled");
        assert!(Arc::ptr_eq(&second, &keys()));
        let command = PeersCommand::Remove(PeerId([1; 32]).to_string());
        admission.command(&command).expect("it is listed");
        assert!(!Arc::ptr_eq(&second, &keys()), "somebody was removed");
    }

    #[test]
    fn the_group_hears_of_an_enrolment_and_sessions_only_of_what_may_end_them() {
        let (admission, invite) = admission(&[], false);
        let (sessions, group) = (admission.changes.subscribe(), admission.enrolments());
        let mut heard = [sessions, group];
        let mut news = || {
            heard
                .each_mut()
                .map(|changes| changes.has_changed().expect("it is there"))
        };
        assert!(admit(&admission, 1, Some(invite), 1).is_ok());
        assert_eq!(news(), [false, true]);
        let command = PeersCommand::Remove(PeerId([1; 32]).to_string());
        admission.command(&command).expect("it is listed");
        assert_eq!(news(), [true, true]);
    }

    #[test]
    fn nobody_but_who_is_enrolled_waits_for_a_disk() {
        let (admission, invite) = admission(&[2], false);
        assert!(admit(&admission, 1, Some(invite), 1).is_ok());
        let writing = admission.store();
        let (tell, told) = std::sync::mpsc::channel();
        let other = Arc::clone(&admission);
        std::thread::spawn(move || {
            let own = PresharedKey::new([1; 32]).name();
            let known = [admit(&other, 1, Some(own), 1), admit(&other, 2, None, 1)];
            let stays = other.admits(&PeerId([1; 32]), true);
            other.hello_keys(PeerId([9; 32]));
            let members = other.enrolled().len();
            // Fails only if the test has given up.
            let _ = tell.send((known.map(|outcome| outcome.is_ok()), stays, members));
        });
        let done = told.recv_timeout(Duration::from_secs(60));
        assert_eq!(done, Ok(([true; 2], true, 1)));
        drop(writing);
    }

    #[tokio::test]
    async fn a_session_hears_when_its_peer_is_admitted_no_more_and_only_then() {
        let (admission, invite) = admission(&[1, 2], false);
        let admitted = |byte, psk| match admit(&admission, byte, psk, 1) {
            Ok(admitted) => admitted,
            Err(_) => panic!("not admitted"),
        };
        let (mut kept, mut lost, mut removed) = (admitted(1, None), admitted(2, None), admitted(3, Some(invite)));
        admission.renew(by_hand(&[1], false));
        lost.ended().await;
        let command = PeersCommand::Remove(PeerId([3; 32]).to_string());
        admission.command(&command).expect("it is listed");
        removed.ended().await;
        tokio::select! {
            biased;
            _ = kept.ended() => panic!("it is still listed"),
            () = std::future::ready(()) => {}
        }
        admission.renew(by_hand(&[], true));
        tokio::select! {
            biased;
            _ = kept.ended() => panic!("everybody is admitted"),
            () = std::future::ready(()) => {}
        }
        admission.renew(by_hand(&[], false));
        kept.ended().await;
    }
}
