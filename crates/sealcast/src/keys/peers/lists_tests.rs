//! The rules, at given times.

use jiff::Timestamp;
use jiff::civil::{Date, date};
use sealcast_proto::keys::{Invite, MAX_PSKS, Peer, PeerId, PresharedKey, PskName};

use super::lists::{Decision, Edit, LiveInvite, MAX_HOURS, MAX_INVITES, MAX_USES, PeerLists, Refusal, Terms};
use super::roll::MAX_ENROLLED;

const TODAY: Date = date(2026, 5, 17);
const ONE: Terms = Terms { uses: 1, hours: 24 };

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
    let live = LiveInvite::new(Invite::new([byte; 16]), terms, now);
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
    let name = invite(&mut lists, 1, Terms { uses: 3, hours: 1 }, at(0));
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
            hours: MAX_HOURS,
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
    let name = invite(&mut lists, 1, Terms { uses: 2, hours: 1 }, at(0));
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
    let terms = Terms {
        uses: MAX_USES,
        hours: 1,
    };
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
    for byte in 0..MAX_INVITES as u8 {
        invite(&mut lists, 100 + byte, terms, at(3));
    }
    assert!(lists.psks(at(3)).len() <= MAX_PSKS && lists.peers.len() == MAX_ENROLLED);
    let kept = |byte: u8| lists.judge(&proves(byte, Some(secret(byte).name())), at(3));
    assert_eq!([5, 200].map(kept), [Decision::Known; 2]);
    assert_eq!(kept(6), Decision::Refused(Refusal::Unknown), "it was removed");
}

#[test]
fn a_secret_that_was_replaced_is_nobodys() {
    let mut lists = PeerLists::default();
    let name = invite(&mut lists, 1, Terms { uses: 2, hours: 1 }, at(0));
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

#[test]
fn one_invite_too_many_withdraws_the_oldest() {
    let mut lists = PeerLists::default();
    let names: Vec<PskName> = (0..MAX_INVITES as u8)
        .map(|byte| {
            assert_eq!(lists.crowded_out(at(0)), None);
            invite(&mut lists, byte, ONE, at(0))
        })
        .collect();
    assert_eq!(lists.crowded_out(at(1)), Some(names[0]));
    let newest = invite(&mut lists, 100, ONE, at(1));
    assert_eq!(lists.invites.len(), MAX_INVITES);
    assert_eq!(
        enrol(&mut lists, 1, names[0], at(1)),
        Decision::Refused(Refusal::Unknown)
    );
    assert_eq!(enrol(&mut lists, 1, newest, at(1)), Decision::Enrols(newest));
    assert_eq!(lists.crowded_out(at(2 * 86_400)), None, "expired ones do not count");
}

#[test]
fn who_is_removed_cannot_come_back_by_the_invite_it_knows() {
    let mut lists = PeerLists::default();
    let shared = invite(&mut lists, 1, Terms { uses: 9, hours: 1 }, at(0));
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
    let names = [1, 2].map(|byte| invite(&mut lists, byte, Terms { uses: 2, hours: 1 }, at(0)));
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
