//! Admission of peers, and who hears of it when that changes.

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
    let (kept, lost, removed) = (admitted(1, None), admitted(2, None), admitted(3, Some(invite)));
    admission.renew(by_hand(&[1], false));
    lost.dismissal().await;
    let command = PeersCommand::Remove(PeerId([3; 32]).to_string());
    admission.command(&command).expect("it is listed");
    removed.dismissal().await;
    tokio::select! {
        biased;
        _ = kept.dismissal() => panic!("it is still listed"),
        () = std::future::ready(()) => {}
    }
    admission.renew(by_hand(&[], true));
    tokio::select! {
        biased;
        _ = kept.dismissal() => panic!("everybody is admitted"),
        () = std::future::ready(()) => {}
    }
    admission.renew(by_hand(&[], false));
    kept.dismissal().await;
}
