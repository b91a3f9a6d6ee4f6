//! Attacks by a member of the group, whose records open at every other member.

use super::test_camera::{self, Camera, Viewer, group_keys, seal};
use super::*;
use crate::keys::{Identity, Side};

struct Scene {
    camera: Camera,
    viewer: Viewer,
}

impl Scene {
    fn new() -> Self {
        let camera = Camera::new();
        let viewer = Viewer::new(camera.peer(), camera.epoch);
        Self { camera, viewer }
    }

    /// The viewer refuses what the insider sends, counts it, and shows nothing of it.
    fn refuses(&mut self, records: &[Vec<u8>], proof: Option<&[u8]>, reason: FrameRefusal) {
        let (shown, counted) = (self.viewer.shown.len(), self.viewer.verifier.refused().of(reason));
        assert_eq!(self.viewer.take(records, proof), Err(reason));
        assert_eq!(self.viewer.shown.len(), shown);
        assert_eq!(self.viewer.verifier.refused().of(reason), counted + 1);
    }

    fn shows(&mut self, frame: &test_camera::SentFrame) {
        self.viewer
            .take(&frame.records, Some(&frame.proof))
            .expect("the camera's");
    }
}

/// Frames that the insider makes with the group's key.
fn insiders(keyframe: bool) -> Vec<Vec<u8>> {
    let mut keys = group_keys(3, Side::Responder);
    seal(&mut keys, keyframe, &[b"nothing", b"happens", b"here"])
}

#[test]
fn injected_frames_are_refused() {
    let mut scene = Scene::new();
    let frames = scene.camera.group(2);
    scene.shows(&frames[0]);
    let forged = insiders(true);
    scene.refuses(&forged, None, FrameRefusal::Unsigned);

    // Signed by the insider itself, with numbers that continue the camera's.
    let insider = Identity::from_seed(&[66; 32]);
    let mut signer = FrameSigner::new(1, 101);
    let outgoing = OutgoingStatement {
        epoch: 3,
        frame: 1,
        keyframe: true,
        digest: test_camera::digest(&forged),
        liveness: None,
    };
    let (_, proof) = signer.sign(&insider, &outgoing).expect("in order");
    scene.refuses(&forged, Some(&proof.to_bytes()), FrameRefusal::Signature);
    scene.shows(&frames[1]);
}

#[test]
fn altered_removed_added_and_swapped_records_are_refused() {
    let mut scene = Scene::new();
    let frame = scene.camera.frame(true);
    let proof = Some(&frame.proof[..]);

    let mut altered = frame.records.clone();
    altered[1] = insiders(true)[1].clone();
    scene.refuses(&altered, proof, FrameRefusal::Digest);
    scene.refuses(&frame.records[..2], proof, FrameRefusal::Records);
    let added = [&frame.records[..], &insiders(true)[2..]].concat();
    scene.refuses(&added, proof, FrameRefusal::Records);
    let mut swapped = frame.records.clone();
    swapped.swap(0, 1);
    scene.refuses(&swapped, proof, FrameRefusal::Digest);
    scene.shows(&frame);
}

#[test]
fn an_old_proof_on_a_new_frame_is_refused() {
    let mut scene = Scene::new();
    let frames = scene.camera.group(3);
    scene.shows(&frames[0]);
    scene.refuses(&insiders(false), Some(&frames[1].proof), FrameRefusal::Digest);
    scene.refuses(&frames[2].records, Some(&frames[1].proof), FrameRefusal::Digest);

    // With the first bytes of the digest made to fit, only the signature is left to refuse it.
    let mut proof = FrameProof::parse(&frames[1].proof).expect("the camera's");
    let [a, b, c, d, ..] = test_camera::digest(&insiders(false)).digest();
    proof.check = [a, b, c, d];
    scene.refuses(&insiders(false), Some(&proof.to_bytes()), FrameRefusal::Signature);
    scene.shows(&frames[1]);
}

#[test]
fn replayed_and_reordered_frames_are_refused() {
    let mut scene = Scene::new();
    let frames = scene.camera.group(4);
    scene.shows(&frames[0]);
    scene.shows(&frames[2]);
    for old in [&frames[1], &frames[2], &frames[0]] {
        scene.refuses(&old.records, Some(&old.proof), FrameRefusal::Order);
    }
    scene.shows(&frames[3]);
    assert_eq!(scene.viewer.verifier.refused().of(FrameRefusal::Order), 3);
}

#[test]
fn a_splice_of_two_groups_of_pictures_is_refused() {
    let mut scene = Scene::new();
    let (first, second) = (scene.camera.group(3), scene.camera.group(3));
    scene.shows(&first[0]);
    // The second group's pictures after the first one's keyframe.
    for spliced in &second[1..] {
        scene.refuses(&spliced.records, Some(&spliced.proof), FrameRefusal::Group);
    }
    scene.shows(&second[0]);
    // And the other way round.
    scene.refuses(&first[1].records, Some(&first[1].proof), FrameRefusal::Order);
    scene.shows(&second[1]);
}

#[test]
fn a_loop_of_old_frames_is_refused_in_every_round() {
    let mut scene = Scene::new();
    let frames = scene.camera.group(5);
    frames.iter().for_each(|frame| scene.shows(frame));
    for _ in 0..3 {
        for frame in &frames {
            scene.refuses(&frame.records, Some(&frame.proof), FrameRefusal::Order);
        }
    }
    assert_eq!(scene.viewer.verifier.refused().total(), 15);
    assert_eq!(scene.viewer.shown.len(), 5);
}
