//! The rules, at given times.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use sealcast_proto::keys::{Invite, MAX_PSKS, Peer, PeerId, PresharedKey, PskName};
use sealcast_proto::wire::TransportKind;

use super::limit::CameraLimit;
use super::lists::{Decision, Edit, LiveInvite, MAX_INVITES, MAX_LIFE, MAX_USES, Origin, PeerLists, Refusal, Terms};
use super::roll::MAX_ENROLLED;

const TODAY: Date = date(2026, 5, 17);
const ONE: Terms = Terms {
    uses: 1,
    life: Duration::from_hours(24),
};

/// Seconds after the first invite.
fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("in range")
}

fn id(byte: u8) -> PeerId {
    PeerId([byte; 32])
}

fn proves(byte: u8, psk: Option<PskName>) -> Peer {
    Peer {
        id: id(byte),
        psk,
        wish: None,
    }
}

fn secret(byte: u8) -> PresharedKey {
    PresharedKey::new([byte; 32])
}

/// Add the invite of this byte. Returns its name.
fn invite(lists: &mut PeerLists, byte: u8, terms: Terms, now: Timestamp) -> PskName {
    let live = LiveInvite::new(Invite::new([byte; 16]), terms, Origin::User, now);
    let name = live.name;
    lists.apply(&Edit::Invite(live), now);
    name
}

/// Let a peer prove an invite, and enrol it if the rules say so; its secret has the byte of its id.
fn enrol(lists: &mut PeerLists, byte: u8, psk: PskName, now: Timestamp) -> Decision {
    let decision = lists.judge(&proves(byte, Some(psk)), now);
    if let Decision::Enrols(invite) = decision {
        let (id, secret) = (id(byte), secret(byte));
        let today = TODAY;
        lists.apply(
            &Edit::Enrol {
                id,
                secret,
                invite,
                today,
            },
            now,
        );
    }
    decision
}

#[test]
fn an_invite_enrols_one_peer_which_may_prove_it_again() {
    let mut lists = PeerLists::default();
    let name = invite(&mut lists, 1, ONE, at(0));
    assert_eq!(enrol(&mut lists, 1, name, at(1)), Decision::Enrols(name));
    assert_eq!(
        enrol(&mut lists, 2, name, at(2)),
        Decision::Refused(Refusal::InviteUsed)
    );
    assert_eq!(
        enrol(&mut lists, 1, name, at(3)),
        Decision::Enrols(name),
        "its secret is replaced"
    );
    assert_eq!((lists.peers.len(), lists.invites[0].left), (1, 0));
    let own = secret(1).name();
    assert_eq!(lists.judge(&proves(1, Some(own)), at(4)), Decision::Known);
}

#[test]
fn an_invite_enrols_as_many_as_it_says() {
    let mut lists = PeerLists::default();
    let name = invite(&mut lists, 1, Terms::hours(3, 1), at(0));
    for byte in 1..=3 {
        assert_eq!(enrol(&mut lists, byte, name, at(1)), Decision::Enrols(name));
        assert_eq!(
            enrol(&mut lists, 1, name, at(1)),
            Decision::Enrols(name),
            "costs no use"
        );
    }
    assert_eq!(
        enrol(&mut lists, 4, name, at(1)),
        Decision::Refused(Refusal::InviteUsed)
    );
}

#[test]
fn an_invite_is_worth_nothing_from_its_last_second_on() {
    let mut lists = PeerLists::default();
    let name = invite(&mut lists, 1, ONE, at(0));
    let last = 24 * 3600;
    assert_eq!(lists.psks(at(last - 1)).len(), 1);
    assert_eq!(
        lists.judge(&proves(1, Some(name)), at(last - 1)),
        Decision::Enrols(name)
    );
    assert!(lists.psks(at(last)).is_empty());
    assert_eq!(
        lists.judge(&proves(1, Some(name)), at(last)),
        Decision::Refused(Refusal::InviteExpired)
    );
    let year = invite(
        &mut lists,
        2,
        Terms {
            uses: 1,
            life: MAX_LIFE,
        },
        at(last),
    );
    assert_eq!(lists.invites.len(), 1, "the expired one is gone");
    assert_eq!(
        enrol(&mut lists, 1, year, at(last + 364 * 86_400)),
        Decision::Enrols(year)
    );
}

#[test]
fn an_invite_made_while_the_clock_was_ahead_enrols_nobody_once_it_is_right() {
    let (mut lists, ahead) = (PeerLists::default(), 10 * 366 * 86_400);
    let name = invite(&mut lists, 1, ONE, at(ahead));
    assert!(lists.psks(at(0)).is_empty());
    assert_eq!(
        enrol(&mut lists, 1, name, at(0)),
        Decision::Refused(Refusal::InviteExpired)
    );
    assert_eq!(enrol(&mut lists, 1, name, at(ahead)), Decision::Enrols(name));
}

#[test]
fn an_enrolled_peer_must_prove_its_own_secret() {
    let mut lists = PeerLists::default();
    let name = invite(&mut lists, 1, Terms::hours(2, 1), at(0));
    enrol(&mut lists, 1, name, at(0));
    enrol(&mut lists, 2, name, at(0));
    let refused = |refusal| Decision::Refused(refusal);
    assert_eq!(lists.judge(&proves(1, None), at(1)), refused(Refusal::Unproved));
    assert_eq!(lists.judge(&proves(3, None), at(1)), refused(Refusal::Unknown));
    for thief in [2, 3] {
        let stolen = Some(secret(1).name());
        assert_eq!(
            lists.judge(&proves(thief, stolen), at(1)),
            refused(Refusal::SecretOfAnother)
        );
    }
    let nobodys = Some(secret(9).name());
    assert_eq!(lists.judge(&proves(1, nobodys), at(1)), refused(Refusal::Unproved));
    assert_eq!(lists.judge(&proves(3, nobodys), at(1)), refused(Refusal::Unknown));
}

#[test]
fn a_peer_that_is_allowed_by_its_id_proves_nothing() {
    let mut lists = PeerLists::default();
    let (id, today, comment) = (id(1), TODAY, "the attic".to_owned());
    lists.apply(&Edit::Allow { id, today, comment }, at(0));
    assert_eq!(lists.judge(&proves(1, None), at(1)), Decision::Known);
    let unknown = lists.judge(&proves(1, Some(secret(9).name())), at(1));
    assert_eq!(
        unknown,
        Decision::Refused(Refusal::Unproved),
        "who proves a key is judged by it"
    );
    assert!(lists.admits(&id, false));
    lists.apply(&Edit::Remove(id), at(2));
    assert!(!lists.admits(&id, true));
}

#[test]
fn a_session_stays_only_where_its_peer_is_listed_and_proved_what_it_must() {
    let mut lists = PeerLists::default();
    let name = invite(&mut lists, 1, ONE, at(0));
    enrol(&mut lists, 1, name, at(0));
    assert!(lists.admits(&id(1), true) && !lists.admits(&id(1), false) && !lists.admits(&id(2), true));
}

/// Enrols a peer of this number by an invite. The peer of a byte has another id.
fn enrol_one_of_many(lists: &mut PeerLists, number: usize, invite: PskName, now: Timestamp) {
    let mut bytes = [0xf0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    let (id, secret) = (PeerId(bytes), PresharedKey::new(bytes));
    let psk = Some(invite);
    assert_eq!(
        lists.judge(&Peer { id, psk, wish: None }, now),
        Decision::Enrols(invite),
        "{number}"
    );
    let today = TODAY;
    lists.apply(
        &Edit::Enrol {
            id,
            secret,
            invite,
            today,
        },
        now,
    );
}

#[test]
fn peers_beyond_the_bound_stay_out_and_leave_the_invite_as_it_was() {
    let mut lists = PeerLists::default();
    let terms = Terms::hours(MAX_USES, 1);
    let first = invite(&mut lists, 1, terms, at(0));
    for byte in [5, 6] {
        assert_eq!(enrol(&mut lists, byte, first, at(1)), Decision::Enrols(first));
    }
    (2..MAX_ENROLLED).for_each(|number| enrol_one_of_many(&mut lists, number, first, at(1)));
    assert_eq!(lists.invites[0].left, 0, "one invite can enrol all that there may be");
    let second = invite(&mut lists, 2, terms, at(2));
    assert_eq!(
        enrol(&mut lists, 200, second, at(2)),
        Decision::Refused(Refusal::TooManyEnrolled)
    );
    assert_eq!(lists.invites[1].left, MAX_USES);
    assert_eq!(
        enrol(&mut lists, 5, second, at(2)),
        Decision::Enrols(second),
        "it is enrolled already"
    );
    lists.apply(&Edit::Remove(id(6)), at(3));
    assert_eq!(enrol(&mut lists, 200, second, at(3)), Decision::Enrols(second));
    for number in 0..MAX_INVITES {
        invite_one_of_many(&mut lists, number, terms, at(3));
    }
    assert!(lists.psks(at(3)).len() <= MAX_PSKS && lists.peers.len() == MAX_ENROLLED);
    let kept = |byte: u8| lists.judge(&proves(byte, Some(secret(byte).name())), at(3));
    assert_eq!([5, 200].map(kept), [Decision::Known; 2]);
    assert_eq!(kept(6), Decision::Refused(Refusal::Unknown), "it was removed");
}

#[test]
fn a_secret_that_was_replaced_is_nobodys() {
    let mut lists = PeerLists::default();
    let name = invite(&mut lists, 1, Terms::hours(2, 1), at(0));
    enrol(&mut lists, 1, name, at(0));
    enrol(&mut lists, 2, name, at(0));
    let (before, today) = (secret(1).name(), TODAY);
    let again = Edit::Enrol {
        id: id(1),
        secret: secret(9),
        invite: name,
        today,
    };
    lists.apply(&again, at(1));
    assert_eq!(
        lists.judge(&proves(1, Some(before)), at(2)),
        Decision::Refused(Refusal::Unproved)
    );
    let now = Some(secret(9).name());
    assert_eq!(lists.judge(&proves(1, now), at(2)), Decision::Known);
    lists.apply(&Edit::Remove(id(2)), at(3));
    assert_eq!(lists.judge(&proves(1, now), at(3)), Decision::Known, "it moved up");
    assert_eq!(
        lists.judge(&proves(3, now), at(3)),
        Decision::Refused(Refusal::SecretOfAnother)
    );
}

/// Adds the invite of this number; that of a byte is another.
fn invite_one_of_many(lists: &mut PeerLists, number: usize, terms: Terms, now: Timestamp) -> PskName {
    let mut bytes = [0xf0; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    let live = LiveInvite::new(Invite::new(bytes), terms, Origin::User, now);
    let name = live.name;
    lists.apply(&Edit::Invite(live), now);
    name
}

#[test]
fn one_invite_too_many_is_left_out_unless_one_that_is_over_makes_room() {
    let mut lists = PeerLists::default();
    let names: Vec<PskName> = (0..MAX_INVITES)
        .map(|number| {
            assert_eq!(lists.room_for_invites(at(0)), MAX_INVITES - number);
            invite_one_of_many(&mut lists, number, ONE, at(0))
        })
        .collect();
    let one_more = invite(&mut lists, 1, ONE, at(1));
    assert_eq!((lists.invites.len(), lists.room_for_invites(at(1))), (MAX_INVITES, 0));
    assert_eq!(
        enrol(&mut lists, 1, one_more, at(1)),
        Decision::Refused(Refusal::Unknown)
    );
    assert_eq!(enrol(&mut lists, 1, names[7], at(1)), Decision::Enrols(names[7]));
    assert_eq!(lists.room_for_invites(at(1)), 1, "it is used up");
    let one_more = invite(&mut lists, 1, ONE, at(1));
    assert_eq!(lists.invites.len(), MAX_INVITES);
    assert_eq!(enrol(&mut lists, 2, one_more, at(1)), Decision::Enrols(one_more));
    assert_eq!(
        enrol(&mut lists, 3, names[0], at(1)),
        Decision::Enrols(names[0]),
        "the oldest is there"
    );
    assert_eq!(
        lists.room_for_invites(at(2 * 86_400)),
        MAX_INVITES,
        "expired ones do not count"
    );
}

#[test]
fn a_start_prints_its_own_invite_again_while_more_than_half_of_its_time_is_left() {
    let (tcp, web) = (
        Origin::Start(TransportKind::Tcp, 0),
        Origin::Start(TransportKind::Https, 0),
    );
    let second = Origin::Start(TransportKind::Tcp, 1);
    let two = Terms::hours(2, 24);
    let mut lists = PeerLists::default();
    invite(&mut lists, 1, two, at(0));
    assert!(
        lists.printed_before(tcp, two, at(0)).is_none(),
        "an invite for somebody is not printed again"
    );
    let live = LiveInvite::new(Invite::new([2; 16]), two, tcp, at(0));
    let name = live.name;
    lists.apply(&Edit::Invite(live), at(0));
    let half = 12 * 3600;
    for (origin, terms, now, again) in [
        (tcp, two, at(0), true),
        (tcp, two, at(half - 1), true),
        (tcp, two, at(half), false),
        (tcp, ONE, at(0), false),
        (tcp, Terms::hours(2, 48), at(0), false),
        (web, two, at(0), false),
        (second, two, at(0), false),
        (tcp, two, at(-400 * 86_400), false),
    ] {
        let printed = lists.printed_before(origin, terms, now).map(|invite| invite.name);
        assert_eq!(printed, again.then_some(name), "{origin:?}, {terms:?}, {now}");
    }
    for (byte, left) in [(1, true), (2, false)] {
        enrol(&mut lists, byte, name, at(1));
        assert_eq!(
            lists.printed_before(tcp, two, at(1)).is_some(),
            left,
            "after {byte} of 2"
        );
    }
}

#[test]
fn a_peer_is_called_what_its_invite_says_until_it_is_called_otherwise() {
    let mut lists = PeerLists::default();
    let labelled = |byte, label: &str| {
        let mut live = LiveInvite::new(Invite::new([byte; 16]), Terms::hours(2, 1), Origin::User, at(0));
        label.clone_into(&mut live.label);
        live
    };
    let (first, second) = (labelled(1, "grandma"), labelled(2, "grandpa"));
    for live in [&first, &second] {
        lists.apply(&Edit::Invite(live.clone()), at(0));
    }
    let called = |lists: &PeerLists, byte| lists.peer(&id(byte)).map(|peer| peer.comment.clone());
    enrol(&mut lists, 1, first.name, at(0));
    assert_eq!(called(&lists, 1).as_deref(), Some("grandma"));
    let (id, comment) = (id(1), "Oma".to_owned());
    lists.apply(&Edit::Rename { id, comment }, at(0));
    assert_eq!(enrol(&mut lists, 1, second.name, at(1)), Decision::Enrols(second.name));
    assert_eq!(
        called(&lists, 1).as_deref(),
        Some("Oma"),
        "what the user said last stays"
    );
    assert_eq!(lists.judge(&proves(1, Some(secret(1).name())), at(2)), Decision::Known);
}

#[test]
fn who_is_removed_cannot_come_back_by_the_invite_it_knows() {
    let mut lists = PeerLists::default();
    let shared = invite(&mut lists, 1, Terms::hours(9, 1), at(0));
    enrol(&mut lists, 1, shared, at(0));
    enrol(&mut lists, 2, shared, at(0));
    lists.apply(&Edit::Remove(id(1)), at(1));
    assert_eq!(enrol(&mut lists, 1, shared, at(1)), Decision::Refused(Refusal::Unknown));
    assert_eq!(
        lists.judge(&proves(1, Some(secret(1).name())), at(1)),
        Decision::Refused(Refusal::Unknown)
    );
    assert_eq!(lists.judge(&proves(2, Some(secret(2).name())), at(1)), Decision::Known);
    let single = invite(&mut lists, 2, ONE, at(2));
    enrol(&mut lists, 3, single, at(2));
    lists.apply(&Edit::Remove(id(3)), at(3));
    assert_eq!(
        enrol(&mut lists, 3, single, at(3)),
        Decision::Refused(Refusal::InviteUsed)
    );
}

#[test]
fn an_invite_is_withdrawn_alone_or_with_those_that_it_enrolled() {
    let withdraw = |invite, with_peers| Edit::Withdraw { invite, with_peers };
    let mut lists = PeerLists::default();
    let names = [1, 2].map(|byte| invite(&mut lists, byte, Terms::hours(2, 1), at(0)));
    for byte in [1, 2] {
        enrol(&mut lists, byte, names[usize::from(byte) - 1], at(0));
    }
    let (id, today) = (id(3), TODAY);
    lists.apply(
        &Edit::Allow {
            id,
            today,
            comment: String::new(),
        },
        at(0),
    );
    let counts = |edit: Edit| {
        let mut lists = lists.clone();
        lists.apply(&edit, at(1));
        (lists.invites.len(), lists.peers.len())
    };
    assert_eq!(counts(withdraw(Some(names[0]), false)), (1, 3));
    assert_eq!(counts(withdraw(Some(names[0]), true)), (1, 2));
    assert_eq!(counts(withdraw(None, false)), (0, 3));
    assert_eq!(counts(withdraw(None, true)), (0, 1));
}

#[test]
fn a_listed_peer_spends_a_use_only_on_more_cameras() {
    for (had, granted, costs, label) in [
        ("", "", false, ""),
        ("front", "front", false, ""),
        ("front,yard", "yard", false, ""),
        ("-yard", "front", false, ""),
        ("front", "yard", true, "club"),
        ("front", "", true, "club"),
        ("-yard", "yard", true, "club"),
        ("-yard", "", false, ""),
    ] {
        let mut lists = PeerLists::default();
        let limit = |text: &str| match text {
            "" => CameraLimit::default(),
            text => text.parse().expect("a limit"),
        };
        let made = |byte, cameras: &str, label: &str| {
            let mut live = LiveInvite::new(Invite::new([byte; 16]), Terms::hours(2, 1), Origin::User, at(0));
            (live.cameras, live.label) = (limit(cameras), label.to_owned());
            live
        };
        let (first, second) = (made(1, had, ""), made(2, granted, "club"));
        for live in [&first, &second] {
            lists.apply(&Edit::Invite(live.clone()), at(0));
        }
        enrol(&mut lists, 1, first.name, at(0));
        assert_eq!(enrol(&mut lists, 1, second.name, at(1)), Decision::Enrols(second.name));
        let left = lists.invite(second.name).map(|invite| invite.left);
        assert_eq!(left, Some(if costs { 1 } else { 2 }), "{had} and {granted}");
        let peer = lists.peer(&id(1)).expect("listed");
        assert_eq!(peer.comment, label, "{had} and {granted}");
        assert_eq!(peer.cameras, limit(had).and(&limit(granted)), "{had} and {granted}");
    }
}
