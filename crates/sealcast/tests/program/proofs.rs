//! Signatures of groups of pictures that do not come, or are required.

use sealcast::failure::FailureKind;
use sealcast_testkit::program::{PATIENCE, home, publish, until, watch};
use sealcast_testkit::relay::{PROOFS, Relay};

use super::decoder::{health, on_a_page};
use super::groups::{GROUP, goes_on, watching};
use super::relays::{KEYED, camera, viewers_command};

const CARD: &str = "test:320x240@25?gop=10";

#[test]
fn a_relay_that_drops_proofs_is_found_out() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &["--sign", "both"]);
    let command = viewers_command(&relay, homes[1].path(), &camera.ticket, &["rov"], &[]);
    let (viewer, page) = on_a_page(command, homes[1].path());
    viewer.says(KEYED, PATIENCE);
    viewer.has_counted("sealcast_group_parts_proven_total", 1.0);
    until("the page shows no alarm", || health(&page)["alarm"].is_null());
    relay.meddle("rov", |track, object| match track {
        PROOFS => Vec::new(),
        _ => vec![object],
    });
    viewer.says("the signatures of their groups do not come", PATIENCE);
    viewer.has_counted("sealcast_group_proofs_missing", 1.0);
    until("the page shows the alarm", || {
        let told = health(&page);
        let alarm = told["alarm"].as_str().unwrap_or_default();
        alarm.contains("the signatures of their groups do not come")
    });
    goes_on(&viewer);
    viewer.has_counted("sealcast_group_pictures_unproven_total", 10.0);
    relay.meddle("rov", |_, object| vec![object]);
    viewer.says("the signatures of groups of pictures come again", PATIENCE);
    assert!(viewer.counts("sealcast_group_pictures_forged_total") < 1.0);
}

#[test]
fn who_requires_signed_groups_refuses_a_publisher_without_in_words() {
    for more in [&GROUP[..], &[]] {
        let homes = [home(), home()];
        let publisher = publish(homes[0].path(), CARD, more);
        let content = ["--require-sign", "both", "--to", "null:"];
        let mut viewer = watch(homes[1].path(), &publisher.ticket, &content);
        assert_eq!(viewer.ends(PATIENCE), i32::from(FailureKind::Refused.exit_code()));
        viewer.says("requires that groups of pictures are signed with ML-DSA-65", PATIENCE);
        publisher.program.says("pages that publish cannot", PATIENCE);
    }
}

#[test]
fn who_requires_signed_groups_is_shown_those_of_a_camera_that_signs_them() {
    for more in [&["--listen", "tcp://127.0.0.1:0"], &["--listen", "udp://127.0.0.1:0"]] {
        let homes = [home(), home()];
        let publisher = publish(homes[0].path(), CARD, &[&GROUP[..], &["--sign", "both"], more].concat());
        let content = ["--require-sign", "both", "--to", "null:"];
        let viewer = watching(homes[1].path(), &publisher.ticket, &content);
        goes_on(&viewer);
        viewer.has_counted("sealcast_group_parts_proven_total", 2.0);
        assert!(viewer.counts("sealcast_group_proofs_missing") < 1.0);
    }
}
