//! When signatures of groups of pictures are missing, and what of frames is unproven.

use std::time::Duration;

use super::test_camera::{Camera, STREAM};
use super::*;

/// A camera with a keyframe each second, and a viewer that knows its key.
struct Scene {
    camera: Camera,
    verifier: GopVerifier,
    /// Start of the group that comes next.
    now: Duration,
    group: Duration,
    /// Signatures in their order.
    signed: Vec<Vec<u8>>,
}

const SECOND: Duration = Duration::from_secs(1);

impl Scene {
    fn new(group: Duration) -> Self {
        let camera = Camera::new();
        Self {
            verifier: GopVerifier::new(STREAM).with_key(camera.gop_key()),
            camera,
            now: Duration::ZERO,
            group,
            signed: Vec::new(),
        }
    }

    /// The viewer takes a group of three frames, whose first one ends the group before.
    fn group(&mut self) {
        for mut frame in self.camera.group(3) {
            self.verifier.took(self.now, &frame.statement);
            if let Some(part) = frame.part.take() {
                self.signed.push(self.camera.sign(part).to_bytes());
            }
        }
        self.now += self.group;
    }

    /// The signature of this group comes.
    fn proof(&mut self, group: usize) {
        self.verifier.verify(&self.signed[group]).expect("the camera's");
    }

    fn missing(&self) -> bool {
        // The next group has not begun.
        let now = self.now.saturating_sub(Duration::from_nanos(1));
        self.verifier.missing_at().is_some_and(|at| at <= now)
    }
}

#[test]
fn signatures_are_missing_after_two_complete_groups_without_and_until_the_next_one() {
    let mut scene = Scene::new(SECOND);
    for group in 0..5 {
        scene.group();
        if group > 0 {
            scene.proof(group - 1);
        }
        assert!(!scene.missing(), "group {group}");
    }
    // From here on they are withheld: group 4 ends first.
    scene.group();
    assert_eq!(scene.verifier.missing_at(), Some(scene.now - SECOND + PROOF_PATIENCE));
    assert!(!scene.missing(), "one complete group");
    scene.group();
    let second_ended = scene.now - SECOND;
    assert_eq!(scene.verifier.missing_at(), Some(second_ended + PROOF_DELAY));
    assert!(!scene.missing(), "it may be on its way");
    for _ in 0..20 {
        scene.group();
        assert!(scene.missing(), "they do not come by waiting");
    }
    let unproven = scene.verifier.counts().unproven;
    assert!(unproven >= 3 * 10, "{unproven} of groups that ended ten seconds ago");
    scene.proof(scene.signed.len() - 1);
    assert!(!scene.missing(), "the newest one came");
}

#[test]
fn of_a_long_group_the_signature_is_waited_for_for_ten_seconds() {
    let mut scene = Scene::new(SECOND * 30);
    scene.group();
    let ended = scene.now;
    scene.group();
    assert_eq!(scene.verifier.missing_at(), Some(ended + PROOF_PATIENCE));
    // It stays so when the group is given up.
    scene.group();
    assert_eq!(scene.verifier.counts().unproven, 3);
    assert_eq!(scene.verifier.missing_at(), Some(ended + PROOF_PATIENCE));
    scene.proof(1);
    assert_eq!(scene.verifier.missing_at(), None);
}

#[test]
fn a_signature_that_got_lost_is_counted_and_no_alarm() {
    let mut scene = Scene::new(SECOND);
    for group in 0..40 {
        scene.group();
        if group > 0 && group % 5 != 0 {
            scene.proof(group - 1);
        }
        assert!(!scene.missing(), "group {group}");
    }
    // Those of groups 4, 9, 14, 19 and 24, and of 29 once ten seconds are over.
    let ProofCounts { unproven, forged } = scene.verifier.counts();
    assert!((3 * 5..=3 * 6).contains(&unproven), "{unproven}");
    assert_eq!(forged, 0);
}

#[test]
fn signatures_that_come_late_are_missing_until_they_catch_up() {
    let mut scene = Scene::new(SECOND);
    for group in 0..8 {
        scene.group();
        if group > 3 {
            scene.proof(group - 4);
            assert!(scene.missing(), "three groups are complete and unproven");
        }
    }
    for group in 4..7 {
        scene.proof(group);
    }
    assert!(!scene.missing());
    assert_eq!(scene.verifier.counts(), ProofCounts::default(), "all came in the end");
}

#[test]
fn where_groups_are_short_signatures_have_a_second() {
    let mut scene = Scene::new(Duration::from_millis(40));
    for group in 0..60 {
        scene.group();
        if group >= 20 {
            // 800 ms late.
            scene.proof(group - 20);
        }
        assert!(!scene.missing(), "group {group}");
    }
    assert_eq!(scene.verifier.counts(), ProofCounts::default());
    for _ in 0..30 {
        scene.group();
    }
    assert!(scene.missing());
}

#[test]
fn without_a_certificate_all_signatures_are_missing() {
    let mut scene = Scene::new(SECOND);
    scene.verifier = GopVerifier::new(STREAM);
    for _ in 0..4 {
        scene.group();
    }
    assert_eq!(scene.verifier.verify(&scene.signed[0]), Err(GopRefusal::Key));
    assert!(scene.missing());
    // Frames that came before it are judged once it is there.
    scene.verifier = std::mem::replace(&mut scene.verifier, GopVerifier::new(STREAM)).with_key(scene.camera.gop_key());
    let verdict = scene.verifier.verify(&scene.signed[1]).expect("the camera's");
    assert_eq!(verdict.outcome, GopOutcome::Proven);
    assert!(!scene.missing());
}

#[test]
fn only_so_many_parts_are_remembered() {
    let mut scene = Scene::new(Duration::ZERO);
    for _ in 0..MAX_OPEN_PARTS + 2 {
        scene.group();
    }
    assert_eq!(scene.verifier.counts().unproven, 6);
}
