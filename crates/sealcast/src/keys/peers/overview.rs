//! Overviews of the lists of a listening end, for people and programs: peers and invites, without their secrets.

use jiff::Timestamp;
use sealcast_proto::keys::PeerId;

use super::last_seen::to_the_second;
use super::lists::{LiveInvite, MAX_INVITES, Origin, PeerLists};
use super::roll::{ListedPeer, MAX_ENROLLED};
use crate::keys::allow::AllowList;
use crate::overview::{AdmittedBy, InviteRow, PeerRow, PeersOverview};

/// Maximum number of hand-written peers that are shown.
const MAX_SHOWN: usize = 128;
/// Maximum length of what is said of a peer and its sessions in bytes.
const MAX_ROW: usize = 4096;
/// Maximum length of an answer about peers in bytes.
pub const MAX_TABLE: usize = MAX_LISTED * MAX_ROW;
/// Maximum number of lines of an answer: peers, their sessions, invites, heads and blanks.
pub const MAX_LISTED: usize = 2 * MAX_ENROLLED + MAX_INVITES + MAX_SHOWN + 16;

/// Those that the lists admit, and the invites. `last_seen` tells when a peer was here last.
pub(crate) fn overview(
    lists: &PeerLists,
    allow: &AllowList,
    last_seen: impl Fn(&PeerId) -> Option<Timestamp>,
    now: Timestamp,
) -> PeersOverview {
    let seen = |id: &PeerId| last_seen(id).map(|time| to_the_second(time).to_string());
    let listed = lists.peers.iter().map(|peer| PeerRow {
        last_seen: seen(&peer.id),
        ..of_listed(peer)
    });
    let by_hand = allow.peers().filter(|(id, _)| lists.peer(id).is_none());
    let by_hand = by_hand.take(MAX_SHOWN).map(|(id, line)| PeerRow {
        last_seen: seen(id),
        ..unlisted(id, format!("line {line} of the allow list"), AdmittedBy::Hand)
    });
    PeersOverview {
        peers: listed.chain(by_hand).collect(),
        more_by_hand: allow.len().saturating_sub(MAX_SHOWN),
        invites: lists.invites.iter().map(|invite| of_invite(invite, now)).collect(),
        ..PeersOverview::default()
    }
}

fn of_listed(peer: &ListedPeer) -> PeerRow {
    let invite = peer.enrolment.as_ref().map(|enrolment| enrolment.invite.to_string());
    let admitted = if invite.is_some() {
        AdmittedBy::Invite
    } else {
        AdmittedBy::Id
    };
    PeerRow {
        invite,
        listed: Some(peer.since.to_string()),
        cameras: (!peer.cameras.is_none()).then(|| peer.cameras.to_string().split(',').map(str::to_owned).collect()),
        ..unlisted(&peer.id, peer.comment.clone(), admitted)
    }
}

/// A peer of which the lists say nothing.
pub(crate) fn unlisted(id: &PeerId, label: String, admitted: AdmittedBy) -> PeerRow {
    PeerRow {
        id: id.to_string(),
        label,
        admitted,
        invite: None,
        listed: None,
        cameras: None,
        last_seen: None,
        sessions: Vec::new(),
    }
}

fn of_invite(invite: &LiveInvite, now: Timestamp) -> InviteRow {
    let made_by = match invite.origin {
        Origin::Start(carrier, _) => format!("start ({})", carrier.name()),
        Origin::User => "user".to_owned(),
    };
    InviteRow {
        name: invite.name.to_string(),
        label: invite.label.clone(),
        made_by,
        uses_left: invite.left,
        uses: invite.allowed,
        expires: to_the_second(invite.expires).to_string(),
        expired: !invite.is_live(now),
    }
}
