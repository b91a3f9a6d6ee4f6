//! Admission of peers, and the end of the sessions of those that are admitted no more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use sealcast_proto::keys::{HelloKeys, Invite, Peer, PeerId, PresharedKey, PskName};
use tokio::sync::watch;

use crate::failure::Result;
use crate::keys::allow::AllowList;
use crate::keys::entropy;
use crate::keys::peers::{Decision, Edit, LiveInvite, PeerStore, PeersCommand, Refusal, Terms};

/// Reason of the close message to a peer that is admitted no more.
pub(super) const REVOKED: &str = "not admitted any more: removed from the lists";

/// Decides on peers that have proved their identity.
pub struct Admission {
    rules: Mutex<Rules>,
    /// Counts the changes of the rules by which somebody may be admitted no more.
    changes: watch::Sender<u64>,
    /// Counts these changes, and those that enrol somebody.
    enrolments: watch::Sender<u64>,
}

struct Rules {
    by_hand: ByHand,
    store: PeerStore,
    hello_keys: Option<KeptKeys>,
}

/// The keys of hellos to this end. They are kept, so that a flood of connections does not cost them each time.
struct KeptKeys {
    keys: Arc<HelloKeys>,
    /// When the first of their invites expires.
    until: Option<Timestamp>,
    /// The lists may have changed since.
    stale: bool,
}

/// What the user has written: the allow list, and whether everybody is admitted.
pub struct ByHand {
    /// Peers that are admitted by their ids.
    pub allow: AllowList,
    /// True to admit everybody.
    pub open: bool,
}

/// Current and maximum number of viewers.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) taken: usize,
    pub(super) most: usize,
}

/// How a peer was admitted. A session keeps it, to learn when that holds no more.
pub(super) struct Admitted {
    admission: Arc<Admission>,
    changes: watch::Receiver<u64>,
    id: PeerId,
    /// True if the peer proved a secret of ours.
    proved: bool,
    /// True if it was enrolled just now.
    pub(super) enrolled: bool,
}

impl Admission {
    /// Admits the peers that are written by hand, those in the store, and those that prove its invites.
    pub fn new(by_hand: ByHand, store: PeerStore) -> Self {
        Self {
            rules: Mutex::new(Rules {
                by_hand,
                store,
                hello_keys: None,
            }),
            changes: watch::Sender::new(0),
            enrolments: watch::Sender::new(0),
        }
    }

    /// Admits nobody without an invite, and forgets everything at exit.
    pub fn in_memory() -> Self {
        let nobody = ByHand {
            allow: AllowList::empty(),
            open: false,
        };
        Self::new(nobody, PeerStore::in_memory())
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        // Each statement leaves the rules consistent, so a panic in another thread does no harm.
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Make an invite. It is valid although it could not be written, which is logged, but then only until exit.
    ///
    /// # Errors
    /// The system provides no random bytes.
    pub fn invite(&self, terms: Terms) -> Result<Invite> {
        let (invite, now) = (Invite::new(entropy::random()?), Timestamp::now());
        let live = LiveInvite::new(invite.clone(), terms, now);
        let (name, expires) = (live.name, live.expires);
        let mut rules = self.rules();
        if let Some(oldest) = rules.store.lists().crowded_out(now) {
            tracing::warn!(invite = %oldest, "withdrew the oldest invite: there are as many as there may be");
        }
        rules.store.edit_or_warn(Edit::Invite(live), now);
        rules.lists_changed();
        tracing::info!(invite = %name, uses = terms.uses, %expires, "a new invite");
        Ok(invite)
    }

    /// The keys of hellos to this end, `own`, with the pre-shared keys that are known now.
    pub(super) fn hello_keys(&self, own: PeerId) -> Arc<HelloKeys> {
        let (mut rules, now) = (self.rules(), Timestamp::now());
        let before = rules.hello_keys.take();
        if let Some(kept) = before.as_ref()
            && !kept.stale
            && kept.until.is_none_or(|until| now < until)
        {
            let keys = Arc::clone(&kept.keys);
            rules.hello_keys = before;
            return keys;
        }
        let lists = rules.store.lists();
        let (psks, until) = (lists.psks(now), lists.next_expiry(now));
        let keys = Arc::new(match before {
            Some(kept) => kept.keys.renewed(&psks),
            None => HelloKeys::new(&own, &psks),
        });
        rules.hello_keys = Some(KeptKeys {
            keys: Arc::clone(&keys),
            until,
            stale: false,
        });
        keys
    }

    /// Read the lists again that the program writes, and replace what the user has written. Sessions of peers that are
    /// admitted no more end.
    pub fn renew(&self, by_hand: ByHand) {
        let mut rules = self.rules();
        rules.by_hand = by_hand;
        rules.lists_changed();
        rules.store.read_again(Timestamp::now());
        drop(rules);
        self.tell();
    }

    /// Run a command about peers. Returns its answer.
    ///
    /// # Errors
    /// As [`PeersCommand::run`].
    pub(super) fn command(&self, command: &PeersCommand) -> Result<String> {
        let mut rules = self.rules();
        rules.lists_changed();
        let Rules { by_hand, store, .. } = &mut *rules;
        let answer = command.run(store, &by_hand.allow, Timestamp::now());
        drop(rules);
        self.tell();
        answer
    }

    /// Those that are enrolled, each with the secret that it and this end keep, and the secret's name.
    pub(super) fn enrolled(&self) -> Vec<(PeerId, PskName, PresharedKey)> {
        let rules = self.rules();
        let enrolled = rules.store.lists().enrolled();
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
        places: Places,
        secret: impl FnOnce() -> Option<PresharedKey>,
    ) -> std::result::Result<Admitted, Refusal> {
        let changes = self.changes.subscribe();
        let mut rules = self.rules();
        let before = rules.store.readings();
        let admitted = rules.admit(peer, places, Timestamp::now(), secret);
        let read_again = rules.store.readings() != before;
        drop(rules);
        // A command may have removed somebody. If not, thousands of sessions need not hear of each other's beginning.
        if read_again {
            self.tell();
        } else if let Ok((_, true)) = admitted {
            self.tell_of_enrolment();
        }
        let (proved, enrolled) = admitted?;
        Ok(Admitted {
            admission: Arc::clone(self),
            changes,
            id: peer.id,
            proved,
            enrolled,
        })
    }

    /// True if a peer that was admitted before would be admitted again.
    fn admits(&self, id: &PeerId, proved: bool) -> bool {
        let rules = self.rules();
        let by_hand = rules.by_hand.open || rules.by_hand.allow.contains(id);
        by_hand || rules.store.lists().admits(id, proved)
    }
}

impl Rules {
    fn lists_changed(&mut self) {
        if let Some(kept) = &mut self.hello_keys {
            kept.stale = true;
        }
    }

    /// Decide, and enrol. Returns whether the peer proved a secret, and whether it was enrolled just now.
    fn admit(
        &mut self,
        peer: &Peer,
        places: Places,
        now: Timestamp,
        secret: impl FnOnce() -> Option<PresharedKey>,
    ) -> std::result::Result<(bool, bool), Refusal> {
        let mut decision = self.judge(peer, now);
        // A place comes first: who gets none has used nothing up.
        if !matches!(decision, Decision::Refused(_)) && places.taken >= places.most {
            return Err(Refusal::NoPlace);
        }
        if let Decision::Enrols(_) = decision {
            // A command may have withdrawn the invite in the meantime.
            self.store.read_again(now);
            self.lists_changed();
            decision = self.judge(peer, now);
        }
        match decision {
            Decision::Known => Ok((self.store.lists().judge(peer, now) == Decision::Known, false)),
            Decision::Refused(refusal) => Err(refusal),
            Decision::Enrols(invite) => {
                let secret = secret().ok_or(Refusal::Unproved)?;
                let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
                let id = peer.id;
                let edit = Edit::Enrol {
                    id,
                    secret,
                    invite,
                    today,
                };
                self.store.edit_or_warn(edit, now);
                Ok((true, true))
            }
        }
    }

    fn judge(&self, peer: &Peer, now: Timestamp) -> Decision {
        let by_hand = self.by_hand.open || self.by_hand.allow.contains(&peer.id);
        match self.store.lists().judge(peer, now) {
            // Who proves an invite keeps a secret of this handshake. If this end does not, the two never meet again.
            decision if peer.psk.is_some() => decision,
            _ if by_hand => Decision::Known,
            decision => decision,
        }
    }
}

impl Admitted {
    /// Wait until the peer is admitted no more. Cancel-safe.
    pub(super) async fn revoked(&mut self) {
        loop {
            if self.changes.changed().await.is_err() {
                return std::future::pending().await;
            }
            if !self.admission.admits(&self.id, self.proved) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::keys::PskName;

    use super::*;

    const ROOM: Places = Places { taken: 0, most: 1 };
    const FULL: Places = Places { taken: 1, most: 1 };
    const ONE: Terms = Terms { uses: 1, hours: 1 };

    type Outcome = std::result::Result<Admitted, Refusal>;

    fn by_hand(peers: &[u8], open: bool) -> ByHand {
        ByHand {
            allow: AllowList::of(peers.iter().map(|byte| PeerId([*byte; 32]))),
            open,
        }
    }

    fn admission(peers: &[u8], open: bool) -> (Arc<Admission>, PskName) {
        let admission = Admission::new(by_hand(peers, open), PeerStore::in_memory());
        let invite = admission.invite(ONE).expect("random bytes");
        (Arc::new(admission), PresharedKey::from_invite(&invite).name())
    }

    /// Decide on a peer, whose secret has the byte of its id.
    fn admit(admission: &Arc<Admission>, byte: u8, psk: Option<PskName>, places: Places) -> Outcome {
        let id = PeerId([byte; 32]);
        admission.admit(&Peer { id, psk }, places, || Some(PresharedKey::new([byte; 32])))
    }

    #[test]
    fn an_invite_is_used_up_only_by_who_gets_a_place() {
        let (admission, invite) = admission(&[], false);
        assert_eq!(admit(&admission, 1, Some(invite), FULL).err(), Some(Refusal::NoPlace));
        assert_eq!(
            admit(&admission, 2, None, FULL).err(),
            Some(Refusal::Unknown),
            "it learns nothing of places"
        );
        assert!(admit(&admission, 3, Some(invite), ROOM).is_ok_and(|admitted| admitted.enrolled));
        assert_eq!(
            admit(&admission, 1, Some(invite), ROOM).err(),
            Some(Refusal::InviteUsed)
        );
        let own = PresharedKey::new([3; 32]).name();
        assert!(admit(&admission, 3, Some(own), ROOM).is_ok_and(|admitted| !admitted.enrolled));
    }

    #[test]
    fn who_is_on_the_hand_written_list_needs_no_invite_and_is_judged_by_one_that_it_proves() {
        let (admission, invite) = admission(&[1], false);
        assert!(admit(&admission, 1, None, ROOM).is_ok_and(|admitted| !admitted.enrolled));
        assert!(admit(&admission, 2, Some(invite), ROOM).is_ok());
        let used = admit(&admission, 1, Some(invite), ROOM).err();
        assert_eq!(
            used,
            Some(Refusal::InviteUsed),
            "it would keep a secret that is not known here"
        );
    }

    #[test]
    fn everybody_is_let_in_only_when_asked_for() {
        let (open, invite) = admission(&[], true);
        assert!(admit(&open, 1, Some(invite), ROOM).is_ok_and(|admitted| admitted.enrolled));
        assert!(admit(&open, 2, None, ROOM).is_ok_and(|admitted| !admitted.enrolled));
    }

    #[test]
    fn keys_of_hellos_are_made_again_only_when_the_lists_have_changed() {
        let (admission, invite) = admission(&[], false);
        let own = PeerId([9; 32]);
        let keys = || admission.hello_keys(own);
        let first = keys();
        assert!(admit(&admission, 1, None, ROOM).is_err());
        assert!(Arc::ptr_eq(&first, &keys()), "nothing changed");
        assert!(admit(&admission, 1, Some(invite), ROOM).is_ok());
        let second = keys();
        assert!(!Arc::ptr_eq(&first, &second), "somebody was enrolled");
        assert!(Arc::ptr_eq(&second, &keys()));
        admission.renew(by_hand(&[], false));
        assert!(!Arc::ptr_eq(&second, &keys()), "the files may be other ones");
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
        assert!(admit(&admission, 1, Some(invite), ROOM).is_ok());
        assert_eq!(news(), [false, true]);
        let command = PeersCommand::Remove(PeerId([1; 32]).to_string());
        admission.command(&command).expect("it is listed");
        assert_eq!(news(), [true, true]);
    }

    #[tokio::test]
    async fn a_session_hears_when_its_peer_is_admitted_no_more_and_only_then() {
        let (admission, invite) = admission(&[1, 2], false);
        let admitted = |byte, psk| match admit(&admission, byte, psk, ROOM) {
            Ok(admitted) => admitted,
            Err(_) => panic!("not admitted"),
        };
        let (mut kept, mut lost, mut removed) = (admitted(1, None), admitted(2, None), admitted(3, Some(invite)));
        admission.renew(by_hand(&[1], false));
        lost.revoked().await;
        let command = PeersCommand::Remove(PeerId([3; 32]).to_string());
        admission.command(&command).expect("it is listed");
        removed.revoked().await;
        tokio::select! {
            biased;
            () = kept.revoked() => panic!("it is still listed"),
            () = std::future::ready(()) => {}
        }
        admission.renew(by_hand(&[], true));
        tokio::select! {
            biased;
            () = kept.revoked() => panic!("everybody is admitted"),
            () = std::future::ready(()) => {}
        }
        admission.renew(by_hand(&[], false));
        kept.revoked().await;
    }
}
