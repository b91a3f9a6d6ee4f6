//! Signatures of groups of pictures in sessions: on time, withheld, lost, and over other pictures.

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use sealcast_proto::session::{Fec, GroupPolicy, Input};
use sealcast_proto::sign::{Certificate, GOP_SIGNATURE_LEN, ProofCounts, ProofState, SignMode, UnsignedPart, gop_seed};
use sealcast_proto::wire::GroupMessage;
use sealcast_testkit::ends::identity;

use super::group_show::{FRAME, PUBLISHER, Show, Way, policy};

const SIGNED: Option<GroupPolicy> = Some(policy(SignMode::Frame));
/// Frames of a group of pictures, which lasts a second.
const GROUP: u64 = 25;

/// A camera with a viewer, and the key that signs groups of pictures.
struct Scene {
    show: Show,
    pair: PqdsaKeyPair,
    /// True if signatures are taken away.
    withholds: bool,
}

impl Scene {
    fn new(way: Way) -> Self {
        let seed = gop_seed(&identity(2));
        let pair = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, seed.as_ref()).expect("32 bytes");
        let mut scene = Self {
            show: Show::over(SignMode::Both, &[way], SIGNED, Fec::Adaptive),
            pair,
            withholds: false,
        };
        let key = scene.pair.public_key().as_ref().try_into().expect("1952 bytes");
        let certificate = Certificate::issue(&identity(2), key).to_bytes();
        // The first sheet is on its way.
        scene.show.pass(FRAME * 5);
        scene.tell(GroupMessage::Certificate(&certificate));
        scene
    }

    fn tell(&mut self, message: GroupMessage<'_>) {
        self.show.viewers[0].tell(PUBLISHER, Input::Group(message));
    }

    fn sign(&self, part: UnsignedPart) -> Vec<u8> {
        let mut signature = [0; GOP_SIGNATURE_LEN];
        self.pair.sign(part.content(), &mut signature).expect("a key pair");
        part.signed(&signature).to_bytes()
    }

    fn play(&mut self, frames: u64) {
        for _ in 0..frames {
            let keyframe = self.show.frames.is_multiple_of(GROUP);
            let part = self.show.frame(keyframe).and_then(|sealing| sealing.part);
            if let Some(part) = part.filter(|_| !self.withholds) {
                let signature = self.sign(part);
                self.tell(GroupMessage::Signature(&signature));
            }
            self.show.pass(FRAME);
        }
    }

    fn proofs(&self) -> ProofState {
        let world = &self.show.viewers[0];
        let proofs = world.initiator.session.proofs(world.now.monotonic);
        proofs.expect("groups of pictures are signed")
    }
}

#[test]
fn signatures_that_are_withheld_are_an_alarm_until_they_come_again_whatever_carries_them() {
    for way in [Way::Stream, Way::Udp("delay=20ms")] {
        let mut scene = Scene::new(way);
        scene.play(5 * GROUP);
        assert_eq!(scene.proofs(), ProofState::default());
        scene.withholds = true;
        scene.play(GROUP);
        assert!(!scene.proofs().missing, "one group is complete");
        // A second one, and a second for its signature to come.
        scene.play(3 * GROUP);
        assert!(scene.proofs().missing);
        assert_eq!(scene.proofs().counts, ProofCounts::default(), "they may be late");
        scene.play(10 * GROUP);
        let unproven = scene.proofs().counts.unproven;
        assert!(unproven >= 2 * GROUP && unproven.is_multiple_of(GROUP), "{unproven}");
        scene.withholds = false;
        scene.play(2 * GROUP);
        assert!(!scene.proofs().missing);
    }
}

#[test]
fn one_signature_that_is_lost_is_counted_and_no_alarm() {
    let mut scene = Scene::new(Way::Stream);
    scene.play(2 * GROUP);
    scene.withholds = true;
    scene.play(GROUP);
    scene.withholds = false;
    for _ in 0..13 {
        scene.play(GROUP);
        assert!(!scene.proofs().missing);
    }
    let counts = ProofCounts {
        unproven: GROUP,
        forged: 0,
    };
    assert_eq!(scene.proofs().counts, counts);
}

#[test]
fn pictures_of_which_the_camera_signs_others_are_counted_as_forged() {
    let mut scene = Scene::new(Way::Stream);
    scene.withholds = true;
    scene.play(GROUP);
    // The same camera signed these others under the same numbers, which nobody can make it do while Ed25519 holds.
    let mut other = Scene::new(Way::Stream);
    other.show.frames = 40 * GROUP;
    let mut parts = (0..=GROUP).filter_map(|at| {
        let sealing = other.show.frame(at.is_multiple_of(GROUP));
        other.show.pass(FRAME);
        sealing.and_then(|sealing| sealing.part)
    });
    let signature = scene.sign(parts.next().expect("a group is complete"));
    scene.tell(GroupMessage::Signature(&signature));
    scene.play(1);
    assert_eq!(scene.proofs().counts.forged, GROUP);
}

#[test]
fn a_camera_that_signs_no_groups_has_no_proofs_to_miss() {
    let mut show = Show::new(SignMode::Frame, 1, SIGNED);
    show.play(4 * GROUP);
    let world = &show.viewers[0];
    assert_eq!(world.initiator.session.proofs(world.now.monotonic), None);
}
