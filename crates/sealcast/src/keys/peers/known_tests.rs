//! Kept enrolments, and addresses beside them.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use sealcast_proto::keys::Invite;
use sealcast_proto::wire::{Host, TransportKind};

use super::*;

/// A ticket of one peer, whose ends listen at several ports.
fn ticket(port: u16, invite: Option<u8>) -> Ticket {
    Ticket {
        host: Host::Name("camera.example".to_owned()),
        port,
        peer: PeerId([7; 32]),
        transport: TransportKind::Tcp,
        latency: None,
        cert_hashes: Vec::new(),
        broadcast: None,
        others: Vec::new(),
        invite: invite.map(|byte| Invite::new([byte; 16])),
    }
}

/// Name of what is proved to the end of a ticket.
fn proved(known: &KnownPeers, port: u16, invite: Option<u8>) -> Option<PskName> {
    known.end_of(&ticket(port, invite)).0.map(|psk| psk.name())
}

const OWN: PeerId = PeerId([1; 32]);

fn keep(known: &KnownPeers, port: u16, invite: u8, secret: u8) -> Option<PskName> {
    let secret = PresharedKey::new([secret; 32]);
    known.end_of(&ticket(port, Some(invite))).1.keep(&secret);
    Some(secret.name())
}

fn named(byte: u8) -> Option<PskName> {
    Some(PresharedKey::from_invite(&Invite::new([byte; 16])).name())
}

#[test]
fn a_kept_secret_takes_the_place_of_its_invite_and_yields_to_a_new_one() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let known = KnownPeers::at(&home.path().join("known"), &OWN);
    assert_eq!(proved(&known, 1, None), None);
    assert_eq!(proved(&known, 1, Some(1)), named(1));
    let kept = keep(&known, 1, 1, 9);
    assert!(!known.end_of(&ticket(1, Some(1))).1.enrols());
    assert_eq!(proved(&known, 1, Some(1)), kept);
    assert_eq!(proved(&known, 2, Some(1)), kept, "the same lists by another way");
    assert_eq!(proved(&known, 1, None), kept);
    assert_eq!(proved(&known, 1, Some(2)), named(2));
    let newer = keep(&known, 1, 2, 10);
    for invite in [None, Some(1), Some(2)] {
        assert_eq!(proved(&known, 1, invite), newer, "the other end has replaced the first");
    }
    let own = home.path().join("known").join(OWN.to_string());
    let file = own.join(PeerId([7; 32]).to_string());
    let mode = fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::write(&file, "nonsense").expect("written");
    assert_eq!(proved(&known, 1, Some(1)), named(1), "it is never fatal");
    keep(&KnownPeers::nowhere(), 1, 1, 9);
    assert_eq!(proved(&KnownPeers::nowhere(), 1, Some(1)), named(1));
}

#[test]
fn addresses_choose_nothing_and_invites_are_noted_up_to_a_bound() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let known = KnownPeers::at(home.path(), &OWN);
    let kept = (0..=MAX_KEPT as u8).map(|end| keep(&known, end.into(), end, 100 + end));
    let kept: Vec<_> = kept.collect();
    let newest = kept.last().expect("several");
    for (port, invite) in [(0, None), (1, Some(1)), (1000, None), (1000, Some(8))] {
        assert_eq!(&proved(&known, port, invite), newest, "{port}, {invite:?}");
    }
    assert_eq!(proved(&known, 0, Some(0)), named(0), "the oldest is gone");
}

#[test]
fn identities_of_an_account_are_kept_apart_and_one_is_told_that_another_is_enrolled() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let other = PeerId([2; 32]);
    let known = [OWN, other].map(|own| KnownPeers::at(home.path(), &own));
    let first = keep(&known[0], 1, 1, 9);
    assert_eq!(proved(&known[1], 1, Some(1)), named(1));
    assert_eq!(known[1].enrolled_instead(&ticket(1, Some(1))), Some(OWN));
    assert_eq!(known[1].enrolled_instead(&ticket(1, Some(2))), None);
    assert_eq!(known[0].enrolled_instead(&ticket(1, Some(1))), None);
    let second = keep(&known[1], 1, 1, 10);
    assert_eq!(
        (proved(&known[0], 1, None), proved(&known[1], 1, None)),
        (first, second)
    );
}

fn addresses(texts: &[&str]) -> Vec<Address> {
    texts.iter().map(|text| text.parse().expect("an address")).collect()
}

#[test]
fn addresses_that_a_peer_told_are_kept_for_each_transport_beside_its_enrolment_alone() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let known = || KnownPeers::at(home.path(), &OWN);
    let (tcp, udp) = (
        ticket(1, Some(1)),
        Ticket {
            transport: TransportKind::Udp,
            ..ticket(1, Some(1))
        },
    );
    let told = addresses(&["10.9.0.3:1", "[fd00::7]:1", "camera.example:2"]);
    known().end_of(&tcp).1.told(&told);
    assert_eq!(known().told(&tcp), [], "it was never enrolled there");
    let kept = keep(&known(), 1, 1, 9);
    known().end_of(&tcp).1.told(&told);
    known().end_of(&udp).1.told(&addresses(&["10.9.0.4:2"]));
    assert_eq!(
        (known().told(&tcp), known().told(&udp)),
        (told.clone(), addresses(&["10.9.0.4:2"]))
    );
    assert_eq!(proved(&known(), 1, None), kept, "the secret stays");
    let newer = keep(&known(), 1, 2, 10);
    assert_eq!((proved(&known(), 1, None), known().told(&tcp)), (newer, told));
    // What comes later takes their place, and what is too much is left out.
    let many: Vec<String> = (1..10).map(|port| format!("10.9.0.5:{port}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    known().keep_told(&tcp.peer, tcp.transport, &addresses(&many));
    assert_eq!(known().told(&tcp), addresses(&many[..MAX_ADDRESSES]));
    known().keep_told(&tcp.peer, tcp.transport, &[]);
    assert_eq!((known().told(&tcp), known().told(&udp).len()), (vec![], 1));
    // However long names are, the secret can be read.
    let name = |nth: usize| {
        format!(
            "{}.n{nth}:9",
            ["a".repeat(60), "b".repeat(60), "c".repeat(60)].join(".")
        )
    };
    let names: Vec<String> = (0..4).map(name).collect();
    let names = addresses(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for transport in [
        TransportKind::Tcp,
        TransportKind::Udp,
        TransportKind::Quic,
        TransportKind::Https,
    ] {
        for invite in 10..10 + MAX_KEPT as u8 {
            keep(&known(), 1, invite, invite);
        }
        known().keep_told(&tcp.peer, transport, &names);
        assert!(known().end_of(&ticket(1, None)).1.is_enrolled(), "{}", transport.name());
    }
    // Who was removed there keeps none.
    known().end_of(&ticket(1, None)).1.forget();
    keep(&known(), 1, 3, 11);
    assert_eq!(known().told(&udp), []);
}

#[test]
fn of_several_programs_with_one_identity_one_at_a_time_is_enrolled() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let known = KnownPeers::at(home.path(), &OWN);
    let ticket = ticket(1, Some(1));
    let Turn::Own(file) = known.turn(&ticket) else {
        panic!("nobody else wants it")
    };
    assert!(matches!(known.turn(&ticket), Turn::Others));
    let mut end = known.end_of(&ticket).1;
    end.hold(Some(file));
    end.keep(&PresharedKey::new([9; 32]));
    assert!(
        matches!(known.turn(&ticket), Turn::Unneeded),
        "they are enrolled by the first"
    );
    end.forget();
    let Turn::Own(file) = known.turn(&ticket) else {
        panic!("it is to be enrolled again")
    };
    drop(file);
    assert!(matches!(known.turn(&ticket), Turn::Own(_)), "who ended has no turn");
}

#[test]
fn what_was_kept_for_all_identities_is_taken_over_for_each_in_one_step() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut other = ticket(2, Some(2));
    other.peer = PeerId([8; 32]);
    let made = tempfile::tempdir().expect("a temporary directory");
    let earlier = KnownPeers::at(made.path(), &OWN);
    let kept = keep(&earlier, 1, 1, 9);
    earlier.end_of(&other).1.keep(&PresharedKey::new([10; 32]));
    let files = made.path().join(OWN.to_string());
    let copy = |to: &Path| {
        fs::create_dir_all(to).expect("made");
        for entry in fs::read_dir(&files).expect("a folder").flatten() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    };
    copy(home.path());
    // Somebody was killed on the way.
    copy(&home.path().join(".sealcastAbCdEf"));
    for own in [OWN, PeerId([2; 32])] {
        let known = KnownPeers::at(home.path(), &own);
        assert_eq!(proved(&known, 1, Some(1)), kept);
        assert!(known.end_of(&other).1.is_enrolled());
        // What it forgets does not come back.
        known.end_of(&ticket(1, Some(1))).1.forget();
        assert_eq!(proved(&KnownPeers::at(home.path(), &own), 1, None), None);
    }
}

#[test]
fn a_secret_that_was_refused_is_forgotten_and_not_one_that_was_not_shown() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let known = KnownPeers::at(home.path(), &OWN);
    keep(&known, 1, 1, 9);
    known.end_of(&ticket(1, Some(3))).1.forget();
    assert!(proved(&known, 1, None).is_some(), "only an invite was shown");
    let shown = known.end_of(&ticket(1, None)).1;
    let newer = keep(&known, 1, 2, 10);
    shown.forget();
    assert_eq!(proved(&known, 1, None), newer);
    known.end_of(&ticket(1, None)).1.forget();
    assert_eq!(proved(&known, 1, None), None);
}

#[test]
fn the_oldest_of_too_many_is_forgotten() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = |number: usize| {
        let mut id = [7; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        home.path().join(PeerId(id).to_string())
    };
    for number in 0..MAX_KNOWN + 2 {
        let made = File::create(file(number)).expect("made");
        let age = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
        made.set_modified(age).expect("our own file");
    }
    fs::write(home.path().join("notes"), "not ours").expect("written");
    forget_oldest(home.path());
    let there: Vec<bool> = (0..4).map(|number| file(number).exists()).collect();
    assert_eq!(there, [false, false, true, true]);
    assert!(home.path().join("notes").exists());
}
