//! Several publishers of one account: who may watch one of them is led to no other.

use std::fs;

use sealcast_testkit::attack::{Home, Proxy};
use sealcast_testkit::program::free_port;

const CARD: &str = "test:160x120@10";

#[test]
fn who_is_led_from_one_publisher_to_another_of_the_account_gets_no_answer() {
    let (home, viewer) = (Home::new(), Home::new());
    // Both admit the viewer by its peer id alone.
    home.write("friends", viewer.peer_id("viewer"));
    let options = |name: &str| format!("--allow friends --no-invite --name {name}");
    let (_front, ticket) = home.publish(CARD, &options("front"));
    let (vault, other) = home.publish(CARD, &options("vault"));
    let led = Proxy::redirect(&ticket, Proxy::port_of(&other));
    let mut watching = viewer.start(&format!("watch {led} --to file:out.h264 --no-reconnect"));
    assert_eq!(watching.ends(), 5, "{}", watching.said());
    assert!(watching.said().contains("without an answer"), "{}", watching.said());
    vault.says("it has no ticket of this end");
    assert!(!viewer.file("out.h264").exists(), "nothing is written");
    for ticket in [ticket, other] {
        viewer
            .start(&format!("watch {ticket} --to null:"))
            .says("INFO watching");
    }
}

#[test]
fn the_hand_written_list_of_the_account_admits_nobody_to_a_publisher_with_a_name() {
    let (home, viewer) = (Home::new(), Home::new());
    let friend = viewer.peer_id("viewer");
    home.write("allow", &friend);
    let (front, ticket) = home.publish(CARD, "--no-invite --name front");
    let mut watching = viewer.start(&format!("watch {ticket} --to null: --no-reconnect"));
    assert_eq!(watching.ends(), 6, "{}", watching.said());
    home.write("publishers/front/allow", &friend);
    front.signal("HUP");
    front.says("the lists of peers were read again");
    viewer
        .start(&format!("watch {ticket} --to null:"))
        .says("INFO watching");
    let (_camera, ticket) = home.publish(CARD, "--no-invite");
    viewer
        .start(&format!("watch {ticket} --to null:"))
        .says("INFO watching");
}

#[test]
fn commands_find_a_running_publisher_by_its_name() {
    let home = Home::new();
    let (_camera, _) = home.publish(CARD, "");
    let (mut front, _) = home.publish(CARD, "--name front");
    for (command, code) in [
        ("control status", 0),
        ("control --name front peers list", 0),
        ("control --name vault status", 5),
        ("control --name ../front status", 2),
        ("peers list", 0),
        ("peers list --name front", 0),
        ("peers list --name vault", 2),
    ] {
        let mut asked = home.start(command);
        assert_eq!(asked.ends(), code, "{command}: {}", asked.said());
    }
    assert_eq!(front.stop(), 0);
    let mut asked = home.start("control --name front status");
    assert_eq!(asked.ends(), 5, "{}", asked.said());
}

#[test]
fn a_home_of_an_earlier_version_keeps_its_identity_its_guests_and_its_epochs() {
    let (home, viewer) = (Home::new(), Home::new());
    let (port, group) = (free_port(), "--group");
    let listen = format!("tcp://127.0.0.1:{port}");
    let (mut publisher, ticket) = home.publish_at(&listen, CARD, group);
    viewer
        .start(&format!("watch {ticket} --to null:"))
        .says("INFO watching");
    assert_eq!(publisher.stop(), 0);
    // As it was laid out: one identity, and lists named after the address.
    let own = |name: &str| home.file("publishers/camera").join(name);
    fs::rename(own("identity"), home.file("identity-publisher")).expect("moved");
    fs::rename(own(""), home.file(&format!("publishers/tcp-127.0.0.1-{port}"))).expect("moved");
    for left in ["publishers/.in-use", "publishers/.starting"] {
        let left = home.file(left);
        let removed = if left.is_dir() {
            fs::remove_dir_all(left)
        } else {
            fs::remove_file(left)
        };
        removed.expect("our own file");
    }
    let number = || {
        fs::read_dir(home.file("epochs")).ok().and_then(|entries| {
            let mut files = entries.flatten().map(|entry| entry.path());
            let text = fs::read_to_string(files.find(|file| file.extension().is_none())?).ok()?;
            text.trim().parse::<u64>().ok()
        })
    };
    let (publisher, again) = home.publish_at(&listen, CARD, group);
    let peer = |ticket: &str| {
        ticket
            .split('#')
            .next()
            .and_then(|head| head.rsplit('/').next())
            .map(str::to_owned)
    };
    assert_eq!(peer(&again), peer(&ticket));
    let bare = again.split('#').next().expect("a ticket");
    viewer.start(&format!("watch {bare} --to null:")).says("INFO watching");
    assert_eq!(publisher.count("enrolled a new viewer"), 0);
    assert_eq!(number(), Some(2 << 20), "a block for each start");
    assert!(!home.file("identity-publisher").exists());
}
