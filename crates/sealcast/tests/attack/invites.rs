//! Guests who want to stay, or to bring others: what an invite is good for, and how a peer is removed again.

use std::fs;
use std::path::PathBuf;

use sealcast::keys::peers::MAX_ENROLLED;
use sealcast_proto::keys::{PeerId, Role, WishedMedia};
use sealcast_testkit::attack::{Home, Program, Puppet, until};
use sealcast_testkit::program::{free_port, write_private};

const CARD: &str = "test:160x120@10";
const STRANGER: &str = "not on the allow list and no valid invite";
const USED: &str = "this invite has been used";
const GONE: &str = "the invite or the enrolment is not known there any more";
const REVOKED: &str = "not admitted any more: removed from the lists";
const READ_AGAIN: &str = "the lists of peers were read again";

/// A publisher at a port of its own, with a name.
struct House<'h> {
    home: &'h Home,
    name: &'static str,
    port: u16,
}

impl<'h> House<'h> {
    fn new(home: &'h Home) -> Self {
        Self::named(home, "camera")
    }

    fn named(home: &'h Home, name: &'static str) -> Self {
        let port = free_port();
        Self { home, name, port }
    }

    /// Starts it; returns the program and its ticket.
    fn open(&self, more: &str) -> (Program, String) {
        let publish = format!(
            "publish {CARD} --listen tcp://127.0.0.1:{} --ticket-file - --name {} {more}",
            self.port, self.name
        );
        let program = self.home.start(&publish);
        let ticket = program.ticket();
        (program, ticket)
    }

    fn list(&self, name: &str) -> PathBuf {
        self.home.file(&format!("publishers/{}/{name}", self.name))
    }

    /// The first words of the lines of a list.
    fn listed(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.list(name)).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.split(' ').next().map(str::to_owned))
            .collect()
    }
}

fn without_invite(ticket: &str) -> &str {
    ticket.split('#').next().expect("a ticket")
}

fn watch(home: &Home, ticket: &str) -> Program {
    home.start(&format!("watch {ticket} --to null:"))
}

/// Fails unless the viewer watches.
fn watches(viewer: &Program) {
    viewer.says("INFO watching");
}

/// Fails unless watching ends with exit code 6 and these words.
fn is_turned_away(home: &Home, ticket: &str, words: &str) {
    ends_refused(
        &mut home.start(&format!("watch {ticket} --to null: --no-reconnect")),
        words,
    );
}

fn ends_refused(program: &mut Program, words: &str) {
    assert_eq!(program.ends(), 6, "{}", program.said());
    assert!(
        program.said().contains(words),
        "'{words}' is missing: {}",
        program.said()
    );
}

/// Runs a command to its end; returns its exit code and output.
fn run(home: &Home, command: &str) -> (i32, String) {
    let mut program = home.start(command);
    let code = program.ends();
    (
        code,
        String::from_utf8_lossy(&program.stdout()).into_owned() + &program.said(),
    )
}

#[test]
fn a_guest_of_one_publisher_is_no_guest_of_another_and_the_hand_written_list_stays_as_it_is() {
    let (home, guest) = (Home::new(), Home::new());
    let by_hand = "# friends\r\n\n  \nno newline at the end: #";
    let by_hand = by_hand.replace("no newline", &format!("{} no newline", PeerId([3; 32])));
    home.write("allow", &by_hand);
    let first = House::new(&home);
    let (mut publisher, ticket) = first.open("");
    let mut viewer = watch(&guest, &ticket);
    watches(&viewer);
    publisher.says("enrolled a new viewer");
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0));

    let (_second, second) = House::named(&home, "vault").open("--no-invite");
    is_turned_away(&guest, &second, STRANGER);
    let gateway = format!(
        "gateway camera --camera rtsp://127.0.0.1:9/ --listen tcp://127.0.0.1:{} --no-invite",
        free_port()
    );
    let gateway = home.start(&gateway);
    is_turned_away(&guest, &gateway.ticket(), STRANGER);

    let (publisher, ticket) = first.open("--no-invite");
    watches(&watch(&guest, &ticket));
    assert_eq!(publisher.count("enrolled"), 0);
    assert_eq!(fs::read_to_string(home.file("allow")).expect("it is there"), by_hand);
}

#[test]
fn a_guest_of_two_publishers_of_one_account_stays_a_guest_of_both() {
    let (home, guest) = (Home::new(), Home::new());
    let houses = ["front", "vault"].map(|name| House::named(&home, name));
    for uses_invite in [true, false] {
        let open = houses.each_ref().map(|house| house.open(""));
        for (publisher, ticket) in &open {
            let ticket = if uses_invite { ticket } else { without_invite(ticket) };
            watches(&watch(&guest, ticket));
            assert_eq!(publisher.count("enrolled a new viewer"), usize::from(uses_invite));
        }
    }
    assert!(houses.iter().all(|house| house.listed("enrolled").len() == 1));
}

#[test]
fn one_invite_enrols_one_of_a_hundred_identities() {
    let home = Home::new();
    let house = House::new(&home);
    // Refusals of strangers are told at powers of two, and each with -v.
    let (publisher, ticket) = house.open("-v");
    let words = ["enrolled a new viewer", USED];
    for number in 1..=100 {
        let _identity = Puppet::connect(&ticket, Role::Viewer, WishedMedia::Frames, true);
        until("it is answered", || {
            let answers = words.iter().map(|words| publisher.count(words)).sum::<usize>();
            (answers >= number).then_some(())
        });
    }
    assert_eq!(words.map(|words| publisher.count(words)), [1, 99]);
    assert_eq!(house.listed("enrolled").len(), 1);
    is_turned_away(&Home::new(), &ticket, USED);
}

#[test]
fn who_finds_a_full_house_is_not_enrolled_and_uses_nothing_up() {
    let (home, guest, late) = (Home::new(), Home::new(), Home::new());
    let house = House::new(&home);
    let (publisher, ticket) = house.open("--max-viewers 1 --invite-uses 2");
    let mut viewer = watch(&guest, &ticket);
    watches(&viewer);
    is_turned_away(&late, &ticket, "too many viewers");
    assert_eq!(house.listed("enrolled").len(), 1);
    assert_eq!(viewer.stop(), 0);
    publisher.says("the viewer left");
    watches(&watch(&late, &ticket));
    assert_eq!(house.listed("enrolled").len(), 2);
    is_turned_away(&Home::new(), &ticket, USED);
}

#[test]
fn lists_that_are_too_long_or_broken_stop_neither_a_start_nor_a_reload() {
    let (home, guest) = (Home::new(), Home::new());
    let house = House::new(&home);
    let id = |number: usize| {
        let mut id = [7; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        PeerId(id)
    };
    let crowd: String = (0..10_050).map(|number| format!("{}\n", id(number))).collect();
    let friend = guest.peer_id("viewer");
    home.write("allow", format!("{friend}\n{crowd}"));
    fs::create_dir_all(house.list("")).expect("made");
    let peers = (0..MAX_ENROLLED + 50).map(|number| format!("{} - - 2026-05-17\n", id(number)));
    let own = "not a line\n".to_owned() + &peers.collect::<String>();
    write_private(&house.list("enrolled"), own);

    let (mut publisher, ticket) = house.open("--no-invite");
    for words in [
        "an allow list has at most 10000 peers",
        "this line holds no enrolled peer",
        "one too many",
    ] {
        publisher.says(words);
    }
    let mut viewer = watch(&guest, &ticket);
    watches(&viewer);
    // A line that is none changes nothing.
    home.write("allow", "nobody\n");
    publisher.signal("HUP");
    publisher.says("everything stays as it was");
    assert!(viewer.running());
    home.write("allow", &crowd);
    publisher.signal("HUP");
    publisher.says(READ_AGAIN);
    ends_refused(&mut viewer, REVOKED);
    assert_eq!(publisher.stop(), 0);
}

#[test]
fn a_removed_viewer_loses_its_session_at_once_and_no_other_does() {
    let [home, first, second, third] = [(); 4].map(|()| Home::new());
    let house = House::new(&home);
    let (publisher, ticket) = house.open("--invite-uses 3 --control control");
    let mut viewers = [&first, &second, &third].map(|home| {
        let viewer = watch(home, &ticket);
        watches(&viewer);
        viewer
    });
    let ids = [&first, &second].map(|home| home.peer_id("viewer"));
    let (code, said) = run(&home, "control --socket control peers list");
    assert_eq!(code, 0, "{said}");
    // The invite that let them in is used up, and listed no more.
    assert!(
        ids.iter().all(|id| said.contains(&id[..10])) && !said.contains("of 3"),
        "{said}"
    );

    let (code, said) = run(&home, &format!("control --socket control peers remove {}", ids[0]));
    assert_eq!((code, said), (0, format!("ok removed {}\n", ids[0])));
    ends_refused(&mut viewers[0], REVOKED);
    // Without its socket, the command changes the files, and the running program is told by a signal.
    fs::remove_file(house.list("control")).expect("a link to the socket");
    let (code, said) = run(&home, &format!("peers remove {}", &ids[1][..12]));
    assert!(
        code == 0 && said.contains(&format!("kill -HUP {}", publisher.pid())),
        "{said}"
    );
    publisher.signal("HUP");
    ends_refused(&mut viewers[1], REVOKED);
    assert_eq!(house.listed("enrolled").len(), 1);
    assert!(viewers[2].running());
    is_turned_away(&first, &ticket, USED);

    let (code, said) = run(&home, &format!("control --socket control peers allow {} again", ids[0]));
    assert_eq!(code, 0, "{said}");
    watches(&watch(&first, without_invite(&ticket)));
}

#[test]
fn a_removed_viewer_gateway_loses_its_session() {
    let (home, guest) = (Home::new(), Home::new());
    let listen = format!("tcp://127.0.0.1:{}", free_port());
    let gateway = home.start(&format!(
        "gateway camera --camera rtsp://127.0.0.1:9/ --listen {listen} --ticket-file - --control control"
    ));
    let ticket = gateway.ticket();
    let link = format!("gateway viewer --peer {ticket} --rtsp 127.0.0.1:{}", free_port());
    let mut viewer = guest.start(&link);
    viewer.says("linked to the camera gateway");
    let (code, said) = run(&home, "control --socket control peers withdraw all with-peers");
    assert_eq!((code, said.as_str()), (0, "ok withdrew 1 invite and removed 1 peer\n"));
    ends_refused(&mut viewer, REVOKED);
    // An alert says so, which anybody could have sent: a service goes on asking.
    let mut again = guest.start(&link);
    again.says(GONE);
    assert!(again.running());
}

#[test]
fn a_listening_viewer_drops_a_removed_publisher_and_waits_for_another() {
    let [home, first, second] = [(); 3].map(|()| Home::new());
    let listen = format!("tcp://127.0.0.1:{}", free_port());
    let mut viewer = home.start(&format!("watch --listen {listen} --ticket-file - --to null:"));
    let ticket = viewer.ticket();
    let mut publisher = first.start(&format!("publish {CARD} --to {ticket}"));
    publisher.says("a viewer watches");
    let (code, said) = run(
        &home,
        &format!("peers withdraw all --with-peers --viewer --listen {listen}"),
    );
    assert_eq!(code, 0, "{said}");
    let (code, said) = run(
        &home,
        &format!("peers allow {} --viewer --listen {listen}", second.peer_id("publisher")),
    );
    assert_eq!(code, 0, "{said}");
    viewer.signal("HUP");
    ends_refused(&mut publisher, "does not let us in");
    assert!(viewer.running());
    let second = second.start(&format!("publish {CARD} --to {}", without_invite(&ticket)));
    second.says("a viewer watches");
}

#[test]
fn a_listening_viewer_that_names_its_publisher_admits_no_other() {
    let [home, right, wrong] = [(); 3].map(|()| Home::new());
    let listen = format!("tcp://127.0.0.1:{}", free_port());
    let right_id = right.peer_id("publisher");
    let viewer = home.start(&format!("watch --listen {listen} --to null: --publisher {right_id}"));
    let ticket = viewer.ticket();
    assert_eq!(without_invite(&ticket), ticket, "it needs no invite");
    home.write("allow-publishers", wrong.peer_id("publisher"));
    ends_refused(
        &mut wrong.start(&format!("publish {CARD} --to {ticket}")),
        "does not let us in",
    );
    let right = right.start(&format!("publish {CARD} --to {ticket}"));
    right.says("a viewer watches");
}

#[test]
fn an_invite_that_was_withdrawn_or_has_expired_is_worth_nothing() {
    let home = Home::new();
    let house = House::new(&home);
    let (mut publisher, ticket) = house.open("--invite-hours 1 --control control");
    let (code, said) = run(&home, "control --socket control peers withdraw all");
    assert_eq!((code, said.as_str()), (0, "ok withdrew 1 invite\n"));
    is_turned_away(&Home::new(), &ticket, GONE);
    assert_eq!(publisher.stop(), 0);

    let (publisher, ticket) = house.open("--invite-hours 1");
    let text = fs::read_to_string(house.list("invites")).expect("a list");
    let (before, _) = text.trim_end().rsplit_once(' ').expect("a time");
    fs::write(house.list("invites"), format!("{before} 2026-01-01T00:00:00Z\n")).expect("written");
    publisher.signal("HUP");
    publisher.says(READ_AGAIN);
    is_turned_away(&Home::new(), &ticket, GONE);
    assert!(house.listed("enrolled").is_empty());
}

#[test]
fn two_publishers_do_not_share_lists() {
    let home = Home::new();
    let (mut first, _) = home.publish(CARD, "--name attic");
    let (code, said) = run(
        &home,
        &format!("publish {CARD} --listen tcp://127.0.0.1:0 --name attic"),
    );
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains(&format!("another program (process {})", first.pid())),
        "{said}"
    );
    assert!(said.contains("--name"), "{said}");
    let (_other, _) = home.publish(CARD, "--name cellar");
    let (code, said) = run(&home, "peers list");
    assert!(code == 2 && said.contains("attic, cellar"), "{said}");
    assert_eq!(run(&home, "peers list --name attic").0, 0);
    assert_eq!(first.stop(), 0);
    let (_again, _) = home.publish(CARD, "--name attic");
}

#[test]
fn eight_programs_of_one_identity_come_at_once_by_an_invite_for_one_and_stay_enrolled() {
    let (home, guest) = (Home::new(), Home::new());
    let house = House::new(&home);
    let (publisher, ticket) = house.open("--max-viewers 9");
    let mut viewers: Vec<_> = (0..8).map(|_| watch(&guest, &ticket)).collect();
    viewers.iter().for_each(watches);
    assert_eq!(publisher.count("enrolled a new viewer"), 1);
    assert!(viewers.iter_mut().all(|viewer| viewer.stop() == 0));
    // What this end has kept is what the publisher has.
    for ticket in [&*ticket, without_invite(&ticket)] {
        watches(&watch(&guest, ticket));
    }
    assert_eq!(publisher.count("enrolled a new viewer"), 1);
}

#[test]
fn two_identities_of_one_account_come_by_one_ticket_while_its_invite_has_a_use_for_each() {
    let (home, guest) = (Home::new(), Home::new());
    assert_eq!(guest.start("keygen other").ends(), 0);
    let own = format!("known/{}", guest.peer_id("viewer"));
    for (name, uses) in [("pair", 2), ("single", 1)] {
        let (publisher, ticket) = House::named(&home, name).open(&format!("--invite-uses {uses}"));
        let _first = watch(&guest, &ticket);
        publisher.says("enrolled a new viewer");
        let second = format!("{ticket} --identity other");
        if uses == 2 {
            watches(&watch(&guest, &second));
            assert_eq!(publisher.count("enrolled a new viewer"), 2);
        } else {
            is_turned_away(&guest, &second, USED);
            let told = format!("the identity in {}", guest.file("identity-viewer").display());
            is_turned_away(&guest, &second, &told);
        }
    }
    assert!(guest.file(&own).is_dir());
}
