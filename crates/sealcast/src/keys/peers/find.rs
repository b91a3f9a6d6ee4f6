//! Peers and invites as a user names them: by an id or its beginning, or by what they are called.

use sealcast_proto::keys::{PeerId, PskName};

use super::lines::one_line;
use super::lists::PeerLists;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;

/// Number of those that a name fits which an error names.
const MAX_NAMED: usize = 8;

/// The peer with this id; or else the only one whose id begins so or that is called so: what one is called may be how
/// the id of another begins, and then nobody is meant.
///
/// # Errors
/// No listed peer fits, or several, which are named.
pub(super) fn find_peer(meant: &str, lists: &PeerLists, allow: Option<&AllowList>) -> Result<PeerId> {
    let listed = lists.peers.iter().map(|peer| (peer.id, peer.comment.as_str()));
    let by_hand = allow.into_iter().flat_map(AllowList::peers).map(|(id, _)| (*id, ""));
    let by_hand = by_hand.filter(|(id, _)| lists.peer(id).is_none());
    let all = listed.chain(by_hand).map(|(id, label)| (id, id.to_string(), label));
    let found = fitting(meant, all);
    match found[..] {
        [id] => Ok(id),
        [] => Err(usage("no listed peer has such an id or name", "peers list shows them")),
        _ => {
            let names = some_of(&found, |id| named(lists, id));
            let what = format!("several peers have an id that begins so, or such a name: {names}");
            Err(usage(&what, "write the beginning of the id of the one that you mean"))
        }
    }
}

/// The invite of this name; or else all that are labelled so; or else the only one whose name begins so.
///
/// # Errors
/// No invite fits, or several of different labels, which are named.
pub(super) fn find_invites(meant: &str, lists: &PeerLists) -> Result<Vec<PskName>> {
    let label = one_line(meant);
    let all = lists
        .invites
        .iter()
        .map(|invite| (invite.name, invite.name.to_string(), invite.label.as_str()));
    let found = fitting(meant, all);
    let is_label = |name: &PskName| lists.invite(*name).is_some_and(|invite| invite.label == label);
    match found[..] {
        [_] => Ok(found),
        [_, ..] if found.iter().all(is_label) => Ok(found),
        [] => Err(usage("there is no such invite", "peers list shows them; or say all")),
        _ => {
            let label = |name: &PskName| lists.invite(*name).map_or("", |invite| &invite.label).to_owned();
            let names = some_of(&found, |name| format!("{name} {}", label(name)).trim_end().to_owned());
            let what = format!("several invites have a name that begins so, or such a label: {names}");
            Err(usage(&what, "write the digits of the one that you mean"))
        }
    }
}

/// Those that a text means: the one with this very name, or else all whose name begins so and all that are called so.
fn fitting<'l, T>(meant: &str, all: impl Iterator<Item = (T, String, &'l str)>) -> Vec<T> {
    let (meant, label) = (meant.trim(), one_line(meant));
    let mut found = Vec::new();
    for (one, name, called) in all.filter(|_| !meant.is_empty()) {
        if name == meant {
            return vec![one];
        }
        if name.starts_with(meant) || called == label {
            found.push(one);
        }
    }
    found
}

fn some_of<T>(found: &[T], name: impl Fn(&T) -> String) -> String {
    let mut names: Vec<String> = found.iter().take(MAX_NAMED).map(name).collect();
    if let Some(more @ 1..) = found.len().checked_sub(MAX_NAMED) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// The name of a peer, and its id; the id alone if it is called nothing.
pub(super) fn named(lists: &PeerLists, id: &PeerId) -> String {
    match lists.label(id) {
        "" => id.to_string(),
        label => format!("{label} ({})", id.short()),
    }
}

pub(super) fn usage(what: &str, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::date;
    use sealcast_proto::keys::Invite;

    use super::super::lists::{Edit, LiveInvite, Origin, Terms};
    use super::*;

    fn now() -> Timestamp {
        "2026-05-17T08:00:00Z".parse().expect("a time")
    }

    /// Peers of these bytes, called so.
    fn lists(peers: &[(u8, &str)]) -> PeerLists {
        let mut lists = PeerLists::default();
        for (byte, label) in peers {
            let allow = Edit::Allow {
                id: PeerId([*byte; 32]),
                today: date(2026, 5, 17),
                comment: (*label).to_owned(),
            };
            lists.apply(&allow, now());
        }
        lists
    }

    #[test]
    fn a_peer_is_meant_by_its_id_or_by_what_alone_begins_or_is_called_so() {
        let id = |byte| PeerId([byte; 32]).to_string();
        let (first, second) = (id(1), id(2));
        let begin = &second[..4];
        let common = first
            .bytes()
            .zip(second.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        let peers = lists(&[
            (1, "grandma"),
            (2, "the garage"),
            (3, begin),
            (4, "twins"),
            (5, "twins"),
            (6, &first),
        ]);
        let allow = AllowList::of([PeerId([1; 32]), PeerId([9; 32])]);
        for (meant, found) in [
            (first.as_str(), Ok(1)),
            (&first[..20], Ok(1)),
            (&second[..20], Ok(2)),
            ("grandma", Ok(1)),
            (" the garage ", Ok(2)),
            ("Grandma", Err("no listed peer")),
            ("", Err("no listed peer")),
            (" ", Err("no listed peer")),
            (begin, Err("several peers")),
            (&first[..common], Err("several peers")),
            ("twins", Err("several peers")),
            (&*id(9), Ok(9)),
        ] {
            let said = find_peer(meant, &peers, Some(&allow)).map_err(|failure| failure.to_string());
            match found {
                Ok(byte) => assert_eq!(said, Ok(PeerId([byte; 32])), "{meant}"),
                Err(words) => assert!(said.expect_err("nobody").contains(words), "{meant}"),
            }
        }
        let said = find_peer("twins", &peers, None).expect_err("both").to_string();
        let both = [4, 5]
            .map(|byte| format!("twins ({})", PeerId([byte; 32]).short()))
            .join(", ");
        assert!(said.contains(&both), "{said}");
    }

    #[test]
    fn invites_are_meant_by_a_name_by_a_label_or_by_what_alone_begins_so() {
        let mut lists = PeerLists::default();
        let mut names = Vec::new();
        for (byte, label) in [(1, "grandma"), (2, "the club"), (3, "the club"), (4, "")] {
            let mut live = LiveInvite::new(Invite::new([byte; 16]), Terms::hours(1, 24), Origin::User, now());
            label.clone_into(&mut live.label);
            names.push(live.name);
            lists.apply(&Edit::Invite(live), now());
        }
        let found = |meant: &str| find_invites(meant, &lists).ok();
        assert_eq!(found("grandma"), Some(vec![names[0]]));
        assert_eq!(found(&names[3].to_string()), Some(vec![names[3]]));
        assert_eq!(found(&names[1].to_string()[..8]), Some(vec![names[1]]));
        assert_eq!(found("the club"), Some(vec![names[1], names[2]]));
        assert_eq!([found(""), found("aunt")], [None, None]);
        let begin = names[0].to_string()[..4].to_owned();
        let mut live = LiveInvite::new(Invite::new([5; 16]), Terms::hours(1, 24), Origin::User, now());
        begin.clone_into(&mut live.label);
        lists.apply(&Edit::Invite(live), now());
        let said = find_invites(&begin, &lists).expect_err("both").to_string();
        assert!(said.contains(&format!("{} grandma, ", names[0])), "{said}");
    }

    #[test]
    fn of_very_many_that_fit_some_are_named() {
        let peers: Vec<(u8, &str)> = (0..20).map(|byte| (byte, "phone")).collect();
        let said = find_peer("phone", &lists(&peers), None).expect_err("all").to_string();
        assert!(
            said.matches("phone (").count() == MAX_NAMED && said.contains("12 more"),
            "{said}"
        );
    }
}
