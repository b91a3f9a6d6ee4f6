//! The lists in their files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use jiff::Timestamp;
use jiff::civil::date;
use sealcast_proto::keys::{Invite, Peer, PeerId, PresharedKey, PskName};
use sealcast_proto::wire::TransportKind;

use super::command::PeersCommand;
use super::limit::CameraLimit;
use super::lists::{Decision, Edit, LiveInvite, Origin, Terms};
use super::overview::overview;
use super::request::InviteRequest;
use super::roll::MAX_ENROLLED;
use super::store::{PeerStore, running};
use crate::failure::FailureKind;
use crate::keys::allow::AllowList;
use crate::overview::AdmittedBy;
use crate::private_file;

fn now() -> Timestamp {
    "2026-05-17T08:00:00Z".parse().expect("a time")
}

fn invite(store: &mut PeerStore, byte: u8, uses: u32) -> PskName {
    let live = LiveInvite::new(
        Invite::new([0x40 + byte; 16]),
        Terms::hours(uses, 24),
        Origin::User,
        now(),
    );
    let name = live.name;
    store.edit(Edit::Invite(live), now()).expect("written");
    name
}

/// The secret of the peer of this byte; nothing of it is like the peer's id.
fn secret(byte: u8) -> PresharedKey {
    PresharedKey::new([0x80 + byte; 32])
}

fn enrolled(byte: u8, invite: PskName) -> Edit {
    Edit::Enrol {
        id: PeerId([byte; 32]),
        secret: secret(byte),
        invite,
        today: date(2026, 5, 17),
    }
}

fn admits(store: &PeerStore, byte: u8) -> bool {
    let psk = Some(secret(byte).name());
    let id = PeerId([byte; 32]);
    store.lists().judge(&Peer { id, psk, wish: None }, now()) == Decision::Known
}

fn run(command: &str, store: &mut PeerStore) -> Result<String, String> {
    let command = PeersCommand::parse(command).map_err(|failure| failure.to_string())?;
    let answer = command.run(store, &AllowList::empty(), now());
    answer.map_err(|failure| failure.to_string())
}

#[test]
fn peers_and_invites_survive_a_restart_and_only_their_owner_reads_them() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let dir = home.path().join("publishers/attic");
    let mut store = PeerStore::claim(&dir, now()).expect("free");
    let name = invite(&mut store, 1, 2);
    store.edit(enrolled(1, name), now()).expect("written");
    drop(store);
    let store = PeerStore::claim(&dir, now()).expect("free again");
    assert!(admits(&store, 1) && !admits(&store, 2));
    assert_eq!(store.lists().invites[0].left, 1);
    for file in ["enrolled", "invites"] {
        let mode = fs::metadata(dir.join(file)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let text = fs::read_to_string(dir.join("invites")).expect("text");
    assert!(text.ends_with(" 1/2 2026-05-18T08:00:00Z user 86400\n"), "{text}");
}

#[test]
fn an_invite_keeps_what_it_was_made_by_and_for_and_those_of_earlier_versions_stay_good() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut store = PeerStore::claim(home.path(), now()).expect("free");
    let start = Origin::Start(TransportKind::Quic, 1);
    let mut live = LiveInvite::new(Invite::new([1; 16]), Terms::hours(3, 24), start, now());
    store.edit(Edit::Invite(live.clone()), now()).expect("written");
    (live.invite, live.origin) = (Invite::new([2; 16]), Origin::User);
    (live.name, live.label) = (
        PresharedKey::from_invite(&live.invite).name(),
        "grandma's phone".to_owned(),
    );
    store.edit(Edit::Invite(live), now()).expect("written");
    let old = LiveInvite::new(Invite::new([3; 16]), Terms::hours(1, 24), Origin::User, now());
    let line = format!("{} {} 1/1 {}\n", old.name, old.invite.reveal(), old.expires);
    let path = home.path().join("invites");
    let text = fs::read_to_string(&path).expect("text") + &line;
    private_file::replace_secret(&path, text.as_bytes()).expect("written");
    store.read_again(now());
    let kept = |at: usize| {
        let invite = &store.lists().invites[at];
        (invite.origin, invite.life.as_secs(), invite.label.clone())
    };
    assert_eq!(kept(0), (start, 86_400, String::new()));
    assert_eq!(kept(1), (Origin::User, 86_400, "grandma's phone".to_owned()));
    assert_eq!(kept(2), (Origin::User, 0, String::new()));
    assert!(store.lists().invites[2].is_live(now()));
}

#[test]
fn lists_belong_to_one_running_program_and_a_command_may_still_change_them() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut program = PeerStore::claim(home.path(), now()).expect("free");
    let refused = PeerStore::claim(home.path(), now()).err().expect("taken");
    let own = std::process::id();
    assert!(
        refused.what.contains(&format!("another program (process {own})")),
        "{refused}"
    );
    assert_eq!(refused.kind, FailureKind::Usage);
    assert_eq!(running(home.path()), Some(own));
    let name = invite(&mut program, 1, 9);
    program.edit(enrolled(1, name), now()).expect("written");
    let mut command = PeerStore::open(home.path(), now()).expect("read");
    let said = run(&format!("remove {}", PeerId([1; 32])), &mut command).expect("removed");
    assert!(said.contains(&name.to_string()), "{said}");
    // The program has not read that yet, and loses none of it by an edit of its own.
    assert!(admits(&program, 1));
    program.edit(enrolled(2, name), now()).expect("written");
    assert!(!admits(&program, 1) && admits(&program, 2));
    command.read_again(now());
    assert!(admits(&command, 2));
    drop(program);
    assert_eq!(running(home.path()), None);
}

#[test]
fn what_cannot_be_written_holds_until_exit_and_is_written_when_that_is_possible() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let dir = home.path().join("lists");
    let mut store = PeerStore::claim(&dir, now()).expect("free");
    let name = invite(&mut store, 1, 2);
    // Nobody can write a file in place of a directory, not even the superuser.
    fs::remove_file(dir.join("enrolled")).expect("our own file");
    fs::create_dir(dir.join("enrolled")).expect("made");
    for _ in 0..3 {
        assert!(store.edit(enrolled(1, name), now()).is_err());
    }
    store.read_again(now());
    assert!(admits(&store, 1));
    fs::remove_dir(dir.join("enrolled")).expect("empty");
    store.read_again(now());
    drop(store);
    assert!(admits(&PeerStore::claim(&dir, now()).expect("free"), 1));
}

/// The id of the peer of a number; that of a peer of a byte is another.
fn numbered(number: usize) -> PeerId {
    let mut id = [0xf0; 32];
    id[..8].copy_from_slice(&number.to_be_bytes());
    PeerId(id)
}

#[test]
fn bad_and_too_many_lines_are_left_out_and_the_rest_is_read() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let line = |number: usize| format!("{} - - 2026-05-17 number {number}\n", numbered(number));
    let good: String = (1..MAX_ENROLLED + 10).map(line).collect();
    let bad = "nobody\n\u{0}\n- - - -\n".to_owned() + &PeerId([200; 32]).to_string() + " short - 2026-05-17\n";
    let write = |list: &str, content: &[u8]| {
        private_file::replace_secret(&home.path().join(list), content).expect("written");
    };
    write("enrolled", (line(1) + &bad + &good).as_bytes());
    write("invites", &[0xff; 100_000]);
    let store = PeerStore::claim(home.path(), now()).expect("it starts");
    assert_eq!(
        (store.lists().peers.len(), store.lists().invites.len()),
        (MAX_ENROLLED, 0)
    );
    let admits = |number| store.lists().admits(&numbered(number), false);
    assert!(admits(MAX_ENROLLED) && !admits(MAX_ENROLLED + 1));
}

#[test]
fn who_is_enrolled_after_others_is_appended_and_is_read_after_a_restart() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("enrolled");
    let mut store = PeerStore::claim(home.path(), now()).expect("free");
    let name = invite(&mut store, 1, 9);
    store.edit(enrolled(1, name), now()).expect("written");
    let (file, readings) = (fs::metadata(&path).expect("it is there"), store.readings());
    for byte in [2, 3] {
        store.edit(enrolled(byte, name), now()).expect("appended");
    }
    let number = |found: &fs::Metadata| std::os::unix::fs::MetadataExt::ino(found);
    assert_eq!(
        (number(&fs::metadata(&path).expect("it is there")), store.readings()),
        (number(&file), readings),
        "the same file, which was not read again"
    );
    // The same peer with another secret: a file that names it twice would admit it with the first one.
    store.edit(enrolled(2, name), now()).expect("replaced");
    drop(store);
    let store = PeerStore::claim(home.path(), now()).expect("free again");
    assert!((1..=3).all(|byte| admits(&store, byte)) && store.lists().peers.len() == 3);
    assert_eq!(store.lists().invites[0].left, 6);
}

#[test]
fn half_a_line_at_the_end_is_left_out_and_spoils_none_that_follows() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("enrolled");
    let mut store = PeerStore::claim(home.path(), now()).expect("free");
    let name = invite(&mut store, 1, 9);
    store.edit(enrolled(1, name), now()).expect("written");
    store.edit(enrolled(2, name), now()).expect("appended");
    drop(store);
    let text = fs::read(&path).expect("it is there");
    fs::write(&path, &text[..text.len() - 5]).expect("as after a loss of power");
    let mut store = PeerStore::claim(home.path(), now()).expect("free again");
    assert!(admits(&store, 1) && !admits(&store, 2));
    store.edit(enrolled(3, name), now()).expect("written");
    drop(store);
    let store = PeerStore::claim(home.path(), now()).expect("free again");
    assert!(admits(&store, 1) && admits(&store, 3));
}

#[test]
fn commands_change_who_is_meant_and_say_what_that_one_was_called() {
    let mut store = PeerStore::in_memory();
    let id = PeerId([1; 32]);
    let (begin, long) = (id.short(), id.to_string());
    for (command, said) in [
        (
            format!("allow {long} the \u{7} garage"),
            format!("the \u{fffd} garage ({begin}) is allowed"),
        ),
        (
            "rename the \u{7} garage\tOma".to_owned(),
            format!("the \u{fffd} garage ({begin}) is called Oma now"),
        ),
        (
            "rename Oma  Tante  Berta".to_owned(),
            format!("Oma ({begin}) is called Tante  Berta now"),
        ),
        (
            "remove Tante  Berta".to_owned(),
            format!("removed Tante  Berta ({begin})"),
        ),
        (format!("allow {long}"), format!("{long} is allowed")),
        (format!("remove {begin}"), format!("removed {long}")),
        ("withdraw all".to_owned(), "withdrew 0 invites".to_owned()),
    ] {
        assert_eq!(run(&command, &mut store), Ok(said), "{command}");
    }
    for (command, words) in [
        ("remove x9", "no listed peer"),
        ("allow me", "no peer id"),
        ("withdraw everything", "no such invite"),
        ("withdraw 0123456789abcdef", "no such invite"),
        ("rename grandma", "no command about peers"),
        ("dismiss all", "no command about peers"),
    ] {
        let said = run(command, &mut store).expect_err("refused");
        assert!(said.contains(words), "{command}: {said}");
    }
}

#[test]
fn an_invite_is_withdrawn_by_its_label_with_those_that_it_enrolled() {
    let mut store = PeerStore::in_memory();
    let mut live = LiveInvite::new(Invite::new([7; 16]), Terms::hours(2, 24), Origin::User, now());
    live.label = "the club".to_owned();
    let name = live.name;
    store.edit(Edit::Invite(live), now()).expect("in memory");
    store.edit(enrolled(1, name), now()).expect("in memory");
    let other = invite(&mut store, 1, 1);
    let withdraw = |invite: &str, with_peers| PeersCommand::Withdraw {
        invite: invite.to_owned(),
        with_peers,
    };
    for (command, line, said) in [
        (
            withdraw("the club", true),
            "withdraw with-peers the club",
            "withdrew 1 invite and removed 1 peer",
        ),
        (
            withdraw(&other.to_string()[..6], false),
            &*format!("withdraw {}", &other.to_string()[..6]),
            "withdrew 1 invite",
        ),
    ] {
        assert_eq!(command.line(), format!("peers {line}"));
        assert_eq!(PeersCommand::parse(line).expect("the same"), command);
        assert_eq!(run(line, &mut store), Ok(said.to_owned()));
    }
    assert_eq!(
        PeersCommand::parse("withdraw all with-peers").expect("as before"),
        withdraw("all", true)
    );
}

#[test]
fn an_answer_says_that_a_change_which_cannot_be_written_holds_only_until_the_program_ends() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut program = PeerStore::claim(home.path(), now()).expect("free");
    let mut command = PeerStore::open(home.path(), now()).expect("read");
    for list in ["enrolled", "invites"] {
        // Nobody can write a file in place of a directory, not even the superuser.
        let _ = fs::remove_file(home.path().join(list));
        fs::create_dir(home.path().join(list)).expect("made");
    }
    let allow = format!("allow {}", PeerId([1; 32]));
    let said = run(&allow, &mut program).expect("it holds");
    assert!(
        said.contains("is allowed, but only until the program ends: the lists of peers in"),
        "{said}"
    );
    let request = InviteRequest::new(Terms::hours(1, 24), "grandma", CameraLimit::default()).expect("possible");
    let (live, kept) = request.make(&mut program, now()).expect("it is valid");
    assert!(kept.starts_with(", but only until the program ends"), "{kept}");
    assert!(program.lists().invite(live.name).is_some());
    let refused = run(&allow, &mut command).expect_err("it would be lost");
    assert!(!refused.contains("until this program ends"), "{refused}");
    assert!(request.make(&mut command, now()).is_err());
}

#[test]
fn a_peer_on_the_hand_written_list_is_removed_by_hand() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (path, id) = (home.path().join("allow"), PeerId([1; 32]));
    fs::write(&path, format!("# friends\n{id} me\n")).expect("written");
    let allow = AllowList::open(&path).expect("read");
    let mut store = PeerStore::in_memory();
    let said = PeersCommand::Remove(id.to_string()).run(&mut store, &allow, now());
    let said = said.expect_err("it stays").to_string();
    assert!(
        said.contains(&format!("line 2 of the allow list {}", path.display())),
        "{said}"
    );
}

#[test]
fn an_overview_has_names_and_times_and_no_secret() {
    let mut store = PeerStore::in_memory();
    let name = invite(&mut store, 1, 2);
    store.edit(enrolled(1, name), now()).expect("in memory");
    let seen = |id: &PeerId| (*id == PeerId([1; 32])).then(now);
    let shown = overview(
        &store.lists(),
        &AllowList::of([1, 2].map(|byte| PeerId([byte; 32]))),
        seen,
        now(),
    );
    let peers: Vec<_> = shown
        .peers
        .iter()
        .map(|peer| (peer.id.clone(), peer.admitted))
        .collect();
    let expected = [(1, AdmittedBy::Invite), (2, AdmittedBy::Hand)];
    assert_eq!(peers, expected.map(|(byte, by)| (PeerId([byte; 32]).to_string(), by)));
    let first = &shown.peers[0];
    assert_eq!(
        (first.invite.clone(), first.listed.as_deref()),
        (Some(name.to_string()), Some("2026-05-17"))
    );
    assert_eq!(first.last_seen.as_deref(), Some("2026-05-17T08:00:00Z"));
    let invite = &shown.invites[0];
    assert_eq!(
        (invite.uses_left, invite.uses, &*invite.expires),
        (1, 2, "2026-05-18T08:00:00Z")
    );
    let text = serde_json::to_string(&shown).expect("it is JSON").to_lowercase();
    let secrets = [
        Invite::new([0x41; 16]).reveal(),
        super::lines::secret_text(&secret(1)).to_string(),
    ];
    for secret in secrets {
        assert!(!text.contains(&secret.to_lowercase()), "{text}");
    }
}
