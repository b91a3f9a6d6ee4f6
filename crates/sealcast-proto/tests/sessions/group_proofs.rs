//! Signatures of groups of pictures in sessions: on time, withheld, lost, and over other pictures.

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use sealcast_proto::session::{Event, Fec, GroupPolicy, Input, SessionError};
use sealcast_proto::sign::{Certificate, GOP_SIGNATURE_LEN, ProofCounts, ProofState, SignMode, UnsignedPart, gop_seed};
use sealcast_proto::wire::GroupMessage;
use sealcast_testkit::ends::{self, Setup, identity};

use super::group_show::{FRAME, PUBLISHER, Show, Way, policy, sealer};

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
        let mut scene = Self::uncertified(way, SIGNED);
        scene.certify();
        scene
    }

    fn uncertified(way: Way, policy: Option<GroupPolicy>) -> Self {
        let seed = gop_seed(&identity(2));
        let pair = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, seed.as_ref()).expect("32 bytes");
        let mut scene = Self {
            show: Show::over(SignMode::Both, &[way], policy, Fec::Adaptive),
            pair,
            withholds: false,
        };
        // The first sheet is on its way.
        scene.show.pass(FRAME * 5);
        scene
    }

    fn certify(&mut self) {
        let key = self.pair.public_key().as_ref().try_into().expect("1952 bytes");
        let certificate = Certificate::issue(&identity(2), key).to_bytes();
        self.tell(GroupMessage::Certificate(&certificate));
    }

    fn tell(&mut self, message: GroupMessage<'_>) {
        self.show.viewers[0].tell(PUBLISHER, Input::Group(message));
    }

    #[expect(clippy::disallowed_methods, reason = "tests sign as the program does")]
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

const INSISTS: Option<GroupPolicy> = Some(policy(SignMode::Both));

#[test]
fn who_insists_on_these_signatures_is_shown_nothing_before_the_certificate_whatever_carries_it() {
    for way in [Way::Stream, Way::Udp("delay=20ms")] {
        let mut scene = Scene::uncertified(way, INSISTS);
        scene.withholds = true;
        scene.play(3 * GROUP);
        assert_eq!(scene.show.numbers(0), [0; 0]);
        scene.certify();
        scene.withholds = false;
        scene.play(3 * GROUP);
        let shown = scene.show.numbers(0);
        assert!(shown.iter().all(|number| *number >= 2 * GROUP), "{shown:?}");
        assert!(shown.contains(&(6 * GROUP - 2)), "it goes on: {shown:?}");
        assert_eq!(scene.show.viewers[0].initiator.error, None);
    }
}

/// The viewer has given up, and the publisher was told why.
fn has_refused(world: &mut sealcast_proto::sim::World) {
    assert_eq!(world.initiator.error, Some(SessionError::SignsTooLittle));
    let told = world.responder.events.iter().find_map(|event| match event {
        Event::Closed { text, .. } => Some(text.clone()),
        _ => None,
    });
    let told = told.unwrap_or_default();
    assert!(told.contains("--require-sign both") && told.contains("pages"), "{told}");
    assert!(world.initiator.assembled.is_empty(), "nothing was shown");
}

#[test]
fn who_insists_on_these_signatures_refuses_a_group_that_has_none() {
    let mut setup = Setup::default();
    setup.viewer.group = INSISTS;
    let mut world = setup.established();
    let sealer = sealer(SignMode::Frame, world.now);
    world.tell(PUBLISHER, Input::Group(GroupMessage::Terms(sealer.terms())));
    world.run(FRAME, &mut |_, _| sealcast_proto::sim::Verdict::Deliver);
    has_refused(&mut world);
}

#[test]
fn who_insists_on_these_signatures_refuses_a_publisher_that_seals_for_it_alone() {
    let mut setup = Setup::default();
    setup.viewer.group = INSISTS;
    let mut world = setup.established();
    for second in 0..12 {
        if world.initiator.error.is_none() {
            ends::publish(&mut world, second, true, &[7; 100]);
        }
        world.run(FRAME * 25, &mut |_, _| sealcast_proto::sim::Verdict::Deliver);
        assert_eq!(world.initiator.error.is_some(), second >= 10, "after {second} s");
    }
    has_refused(&mut world);
}
