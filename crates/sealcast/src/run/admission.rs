//! Admission of peers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sealcast_proto::keys::{Peer, PeerId};
use sealcast_proto::session::Input;
use sealcast_proto::wire::CloseReason;

use crate::keys::allow::AllowList;

/// Decides on peers that have proved their identity.
pub struct Admission {
    rules: Mutex<Rules>,
}

struct Rules {
    list: AllowList,
    open: bool,
}

/// The decision on a peer, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Admitted: on the allow list.
    Listed,
    /// Admitted: it proved the invite and was added to the list.
    Enrolled,
    /// Admitted: everybody is.
    Open,
    /// Not admitted.
    Refused,
}

/// Current and maximum number of viewers.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) taken: usize,
    pub(super) most: usize,
}

impl Admission {
    /// Admits the peers on `list`, peers that prove the invite and, if `open`, everybody.
    pub fn new(list: AllowList, open: bool) -> Self {
        Self {
            rules: Mutex::new(Rules { list, open }),
        }
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        // Each statement leaves the rules consistent, so a panic in another thread does no harm.
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replace the rules. Peers that were enrolled but could not be written to the file stay admitted until exit.
    pub(super) fn renew(&self, by: Self) {
        let mut new = by.rules.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut rules = self.rules();
        new.list.keep_unwritten(&rules.list);
        *rules = new;
    }

    /// Decide on a peer. If an enrolment cannot be written to the file, this is logged and it lasts until exit.
    pub fn judge(&self, peer: &Peer) -> Verdict {
        let mut rules = self.rules();
        if rules.list.contains(&peer.id) {
            return Verdict::Listed;
        }
        if peer.psk.is_some() {
            if let Err(failure) = rules.list.enrol(peer.id) {
                tracing::warn!("{failure}");
            }
            return Verdict::Enrolled;
        }
        if rules.open { Verdict::Open } else { Verdict::Refused }
    }

    /// Decide on a viewer that has proved its identity and connects `from` this address. Returns the input for its
    /// session.
    pub(super) fn admit(&self, peer: &Peer, from: &str, places: Places) -> Input<'static> {
        let verdict = self.judge(peer);
        let peer = peer.id;
        match verdict {
            Verdict::Refused => {
                tracing::warn!(%peer, from, "refused a viewer: it is not on the allow list and proved no invite");
                Input::Close(CloseReason::NotAuthorised, "not on the allow list and no valid invite")
            }
            _ if places.taken >= places.most => {
                tracing::warn!(%peer, from, max = places.most, "refused a viewer: too many watch");
                Input::Close(
                    CloseReason::TooManyViewers,
                    "as many viewers as are allowed watch already",
                )
            }
            Verdict::Enrolled => {
                tracing::info!(%peer, from, "enrolled a new viewer by its invite");
                Input::Admit
            }
            Verdict::Listed | Verdict::Open => Input::Admit,
        }
    }

    /// True if the peer is already on the list.
    pub fn knows(&self, peer: &PeerId) -> bool {
        self.rules().list.contains(peer)
    }

    /// True if a peer that was admitted before would be admitted again.
    pub(super) fn admits(&self, peer: &PeerId) -> bool {
        let rules = self.rules();
        rules.open || rules.list.contains(peer)
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::keys::PskName;

    use super::*;

    fn peer(invited: bool) -> Peer {
        Peer {
            id: PeerId([5; 32]),
            psk: invited.then_some(PskName([1; 8])),
        }
    }

    #[test]
    fn an_unknown_peer_without_an_invite_stays_out() {
        let admission = Admission::new(AllowList::in_memory(), false);
        assert_eq!(admission.judge(&peer(false)), Verdict::Refused);
    }

    #[test]
    fn an_invited_peer_comes_back_without_its_invite() {
        let admission = Admission::new(AllowList::in_memory(), false);
        assert_eq!(admission.judge(&peer(true)), Verdict::Enrolled);
        assert_eq!(admission.judge(&peer(false)), Verdict::Listed);
    }

    #[test]
    fn rules_that_were_read_again_hold_and_only_who_could_not_be_written_down_is_kept() {
        let admission = Admission::new(AllowList::of([PeerId([1; 32])]), false);
        assert_eq!(admission.judge(&peer(true)), Verdict::Enrolled);
        admission.renew(Admission::new(AllowList::of([PeerId([2; 32])]), false));
        assert!(!admission.admits(&PeerId([1; 32])) && admission.admits(&PeerId([2; 32])));
        assert!(admission.admits(&peer(false).id), "it was promised to stay until exit");
        admission.renew(Admission::new(AllowList::in_memory(), true));
        assert!(admission.admits(&PeerId([1; 32])), "open for all");
    }

    #[test]
    fn everybody_is_let_in_only_when_asked_for() {
        let admission = Admission::new(AllowList::in_memory(), true);
        assert_eq!(admission.judge(&peer(false)), Verdict::Open);
        assert!(!admission.knows(&peer(false).id));
    }
}
