//! All ends on one account, with one folder of keys.

use std::collections::BTreeSet;
use std::fs;

use sealcast::keys::files::{End, create_identity, read_identity};
use sealcast_testkit::gateways::{Camera, Plain, Player, camera_gateway, viewer_gateway};
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, file_url, free_port, home, publish, sealcast, until, watch};

#[test]
fn one_account_publishes_watches_and_runs_both_gateways_at_once() {
    let home = home();
    let camera = Camera::start(Plain::Tcp, vec![(0, vec![1; 500])], true);
    let mut publisher = publish(home.path(), "test:320x240@25", &[]);
    let listen = ["--listen", &format!("tcp://127.0.0.1:{}", free_port())];
    let mut camera_end = camera_gateway(home.path(), &camera.url(), &listen);
    let seen = home.path().join("seen.h264");
    let mut viewer = watch(home.path(), &publisher.ticket, &["--to", &file_url(&seen)]);
    let port = free_port();
    let mut viewer_end = viewer_gateway(home.path(), &camera_end.ticket, port, &[]);
    let player = Player::watch(port, Plain::Tcp);
    player.packets(20);
    until("frames are recorded", || {
        fs::metadata(&seen).is_ok_and(|file| file.len() > 10_000)
    });
    let ends = [End::Publisher, End::Viewer, End::GatewayCamera, End::GatewayViewer];
    let ids = ends.map(|end| {
        let identity = read_identity(&home.path().join("keys").join(end.file_name()));
        identity.expect("each end made its own").peer_id().to_string()
    });
    assert_eq!(BTreeSet::from(ids.clone()).len(), ids.len(), "{ids:?}");
    assert!(publisher.ticket.contains(&ids[0]), "{} of {ids:?}", publisher.ticket);
    drop(player);
    for program in [
        &mut viewer,
        &mut viewer_end,
        &mut publisher.program,
        &mut camera_end.program,
    ] {
        program.stop();
        assert!(!program.said().contains("WARN"), "{}", program.said());
    }
}

#[test]
fn an_identity_that_all_ends_shared_is_not_used_and_said_to_be_there() {
    let home = home();
    let keys = home.path().join("keys");
    let shared = keys.join("identity");
    let old = create_identity(&shared).expect("made").peer_id().to_string();
    let publisher = publish(home.path(), "test:320x240@25", &[]);
    assert!(!publisher.ticket.contains(&old));
    let words = format!(
        "mv -i {} {}",
        path(&shared),
        path(&keys.join("publishers/camera/identity"))
    );
    publisher.program.says(&words, PATIENCE);
    drop(publisher);
    // What the line says keeps the peer id.
    fs::rename(&shared, keys.join("publishers/camera/identity")).expect("moved");
    let publisher = publish(home.path(), "test:320x240@25", &[]);
    assert!(publisher.ticket.contains(&old), "{}", publisher.ticket);
    assert!(!publisher.program.said().contains("is not used"));
}

#[test]
fn an_identity_is_made_for_one_end_and_never_at_no_place() {
    let home = home();
    let run = |arguments: &[&str]| sealcast(home.path()).args(arguments).output().expect("it runs");
    let made = run(&["keygen", "--for", "gateway-camera"]);
    assert!(made.status.success(), "{made:?}");
    let identity = read_identity(&home.path().join("keys/publishers/gateway/identity")).expect("made");
    assert_eq!(
        String::from_utf8_lossy(&made.stdout).trim(),
        identity.peer_id().to_string()
    );
    assert_eq!(run(&["keygen"]).status.code(), Some(2));
    assert_eq!(run(&["keygen", "file", "--for", "viewer"]).status.code(), Some(2));
    assert_eq!(fs::read_dir(home.path().join("keys")).expect("a folder").count(), 1);
    let named = run(&["keygen", "--for", "publisher", "--name", "front"]);
    assert!(named.status.success(), "{named:?}");
    assert!(home.path().join("keys/publishers/front/identity").exists());
    assert_eq!(
        run(&["keygen", "--for", "viewer", "--name", "front"]).status.code(),
        Some(2)
    );
    for name in [".front", "a/b", "..", &"x".repeat(65)] {
        let refused = run(&["keygen", "--for", "publisher", "--name", name]);
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            refused.status.code() == Some(2) && words.contains("no dot first"),
            "{words}"
        );
    }
}
