//! Several publishers of one account: who may watch one of them is led to no other.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealcast_testkit::attack::{Home, Proxy};
use sealcast_testkit::program::write_private;

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

/// Copies this folder of `earlier-home` into a home, with the rights that the program gives its files. They were
/// written by hand, as commit 04154b41 writes them (its `keys/files.rs`, `keys/epoch_numbers.rs`, and `lines.rs`,
/// `store.rs` and `known.rs` of `keys/peers`): a camera that listened at tcp://127.0.0.1:9553 with a group, and a
/// viewer that it enrolled.
fn earlier_home(of: &str) -> Home {
    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).expect("a folder").flatten() {
            let to = to.join(entry.file_name());
            match entry.path().is_dir() {
                true => {
                    fs::create_dir(&to).expect("a new folder");
                    fs::set_permissions(&to, Permissions::from_mode(0o700)).expect("our own folder");
                    copy(&entry.path(), &to);
                }
                false => write_private(&to, fs::read(entry.path()).expect("a file")),
            }
        }
    }
    let home = Home::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attack/earlier-home");
    copy(&kept.join(of), home.path());
    home
}

#[test]
fn a_home_of_an_earlier_version_keeps_its_identity_its_guests_and_its_epochs() {
    let (home, viewer) = (earlier_home("camera"), earlier_home("viewer"));
    let known = fs::read_dir(viewer.file("known")).expect("its enrolments");
    let camera = known.flatten().next().expect("that at the camera").file_name();
    let camera = camera.to_str().expect("a peer id");
    let first = home.file(&format!("epochs/{camera}-1"));
    assert_eq!(fs::read_to_string(first).expect("a number"), "1048576\n");
    let (mut publisher, ticket) = home.publish(CARD, "--group");
    let bare = ticket.split('#').next().expect("a ticket");
    assert!(bare.contains(camera), "it is the camera of before: {bare}");
    viewer.start(&format!("watch {bare} --to null:")).says("INFO watching");
    assert_eq!(publisher.count("enrolled a new viewer"), 0);
    let number = fs::read_dir(home.file("epochs")).ok().and_then(|entries| {
        let mut files = entries.flatten().map(|entry| entry.path());
        let text = fs::read_to_string(files.find(|file| file.extension().is_none())?).ok()?;
        text.trim().parse::<u64>().ok()
    });
    assert_eq!(number, Some(2 << 20), "a block for each start");
    assert!(!home.file("identity-publisher").exists());
    assert_eq!(publisher.stop(), 0);
    // What was taken over stays so.
    let (_publisher, again) = home.publish(CARD, "--group");
    assert!(again.contains(camera), "{again}");
    let bare = again.split('#').next().expect("a ticket");
    viewer.start(&format!("watch {bare} --to null:")).says("INFO watching");
}
