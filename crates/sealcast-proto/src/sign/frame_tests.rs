//! Frames and their proofs, one reason for refusal after the other.

use super::test_camera::{Camera, STREAM, SentFrame, digest};
use super::*;
use crate::keys::Identity;
use crate::wire::Malformed;

fn verifier(camera: &Camera) -> FrameVerifier {
    FrameVerifier::new(camera.peer(), STREAM)
}

fn verify(verifier: &mut FrameVerifier, frame: &SentFrame) -> Result<Verified, FrameRefusal> {
    verifier.verify(&frame.received(), Some(&frame.proof))
}

/// Expects a refusal that is counted once and changes nothing: the frame itself is verified afterwards.
fn refuses(verifier: &mut FrameVerifier, frame: &ReceivedFrame, proof: Option<&[u8]>, reason: FrameRefusal) {
    let before = (
        verifier.accepted(),
        verifier.refused().of(reason),
        verifier.refused().total(),
    );
    assert_eq!(verifier.verify(frame, proof), Err(reason));
    let after = (
        verifier.accepted(),
        verifier.refused().of(reason),
        verifier.refused().total(),
    );
    assert_eq!(after, (before.0, before.1 + 1, before.2 + 1));
}

#[test]
fn frames_are_verified_over_gaps_groups_and_epochs() {
    let mut camera = Camera::new();
    let mut verifier = verifier(&camera);
    for epoch in 0..3 {
        for frame in camera.group(4).iter().enumerate().filter(|(at, _)| *at != 2) {
            let verified = verify(&mut verifier, frame.1).expect("the camera's");
            assert_eq!(*verified.statement(), frame.1.statement);
        }
        assert_eq!(verifier.accepted(), 3 * (epoch + 1));
        camera.rekey();
    }
    assert_eq!(verifier.refused().total(), 0);
}

#[test]
fn an_epoch_may_begin_within_a_group_of_pictures() {
    let mut camera = Camera::new();
    let mut verifier = verifier(&camera);
    let first = camera.group(2);
    camera.rekey();
    let second = camera.frame(false);
    for frame in first.iter().chain([&second]) {
        verify(&mut verifier, frame).expect("the camera's");
    }
}

#[test]
fn a_camera_that_starts_again_is_verified_in_its_next_epoch() {
    let mut camera = Camera::new();
    let mut verifier = verifier(&camera);
    camera.next_frame = 1000;
    let before = camera.frame(true);
    verify(&mut verifier, &before).expect("the camera's");
    camera.rekey();
    camera.next_frame = 0;
    let after = camera.frame(true);
    verify(&mut verifier, &after).expect("the camera's");
    refuses(
        &mut verifier,
        &before.received(),
        Some(&before.proof),
        FrameRefusal::Epoch,
    );
}

#[test]
fn every_reason_for_refusal_has_its_name() {
    let mut camera = Camera::new();
    let mut verifier = verifier(&camera);
    let frames = camera.group(3);
    verify(&mut verifier, &frames[0]).expect("the camera's");
    let (frame, proof) = (frames[1].received(), &frames[1].proof);

    refuses(&mut verifier, &frame, None, FrameRefusal::Unsigned);
    let mut bare = FrameProof::parse(proof).expect("the camera's");
    bare.signature = None;
    refuses(&mut verifier, &frame, Some(&bare.to_bytes()), FrameRefusal::Unsigned);
    refuses(&mut verifier, &frame, Some(&proof[1..]), FrameRefusal::Malformed);
    let other = ReceivedFrame { stream: 2, ..frame };
    refuses(&mut verifier, &other, Some(proof), FrameRefusal::Stream);
    let other = ReceivedFrame { epoch: 4, ..frame };
    refuses(&mut verifier, &other, Some(proof), FrameRefusal::Epoch);
    let fewer = ReceivedFrame {
        digest: digest(&frames[1].records[..2]),
        ..frame
    };
    refuses(&mut verifier, &fewer, Some(proof), FrameRefusal::Records);
    let other = ReceivedFrame {
        digest: digest(&frames[2].records),
        ..frame
    };
    refuses(&mut verifier, &other, Some(proof), FrameRefusal::Digest);
    let again = frames[0].received();
    refuses(&mut verifier, &again, Some(&frames[0].proof), FrameRefusal::Order);
    let mut forged = FrameProof::parse(proof).expect("the camera's");
    forged.signature = forged.signature.map(|mut signature| {
        signature[5] ^= 1;
        signature
    });
    refuses(&mut verifier, &frame, Some(&forged.to_bytes()), FrameRefusal::Signature);

    verify(&mut verifier, &frames[1]).expect("refusals change nothing");
    let next = camera.group(2);
    refuses(
        &mut verifier,
        &next[1].received(),
        Some(&next[1].proof),
        FrameRefusal::Group,
    );
    verify(&mut verifier, &frames[2]).expect("refusals change nothing");
    verify(&mut verifier, &next[0]).expect("refusals change nothing");
}

#[test]
fn no_field_of_a_proof_can_be_changed() {
    let mut camera = Camera::new();
    let frame = camera.frame_with(true, Some([8; 32]));
    assert_eq!(frame.proof.len(), MAX_FRAME_PROOF);
    for at in 0..frame.proof.len() * 8 {
        let mut proof = frame.proof.clone();
        proof[at / 8] ^= 1 << (at % 8);
        let refused = verifier(&camera).verify(&frame.received(), Some(&proof));
        assert!(refused.is_err(), "bit {at}");
    }
    verify(&mut verifier(&camera), &frame).expect("the camera's");
}

#[test]
fn a_viewer_begins_with_a_keyframe() {
    let mut camera = Camera::new();
    let mut verifier = verifier(&camera);
    let frames = camera.group(2);
    refuses(
        &mut verifier,
        &frames[1].received(),
        Some(&frames[1].proof),
        FrameRefusal::Group,
    );
}

#[test]
fn another_camera_is_not_this_one() {
    let mut other = Camera::with_seed(8);
    let frame = other.frame(true);
    let mut verifier = verifier(&Camera::new());
    refuses(
        &mut verifier,
        &frame.received(),
        Some(&frame.proof),
        FrameRefusal::Signature,
    );
}

#[test]
fn a_proof_is_read_as_it_is_written_and_no_other_way() {
    let mut camera = Camera::new();
    for (liveness, length) in [(None, 102), (Some([1; 32]), 134)] {
        let frame = camera.frame_with(true, liveness);
        let proof = FrameProof::parse(&frame.proof).expect("the camera's");
        assert_eq!((proof.to_bytes(), frame.proof.len()), (frame.proof.clone(), length));
        for cut in 0..frame.proof.len() {
            assert_eq!(FrameProof::parse(&frame.proof[..cut]), Err(Malformed));
        }
        let longer = [&frame.proof[..], &[0]].concat();
        assert_eq!(FrameProof::parse(&longer), Err(Malformed));
    }
    let mut reserved = camera.frame(true).proof;
    reserved[1] |= 0x04;
    assert_eq!(FrameProof::parse(&reserved), Err(Malformed));
    let proof = camera.frame_with(false, Some([0; 32])).proof;
    assert_eq!(
        FrameProof::parse(&proof),
        Err(Malformed),
        "a root of zeros is not written"
    );
}

#[test]
fn a_digest_counts_its_records_and_their_order() {
    let records = [vec![1; 40], vec![2; 40], vec![3; 41]];
    let all = digest(&records);
    assert_eq!(all.records(), 3);
    let hashes = records.each_ref().map(|record| record_hash(record));
    assert_eq!(FrameDigest::of_hashes(&hashes), Some(all));
    let [a, b, c] = hashes;
    for other in [vec![a, c, b], vec![a, b], vec![a, b, c, c], vec![b, c]] {
        assert_ne!(FrameDigest::of_hashes(&other).expect("some").digest(), all.digest());
    }
    assert_eq!(FrameDigest::of_hashes([]), None);
    let most = vec![a; MAX_FRAME_RECORDS as usize];
    assert!(FrameDigest::of_hashes(&most).is_some());
    assert_eq!(FrameDigest::of_hashes(most.iter().chain([&a])), None);
}

#[test]
fn a_camera_states_each_number_once() {
    let identity = Identity::from_seed(&[1; 32]);
    let mut signer = FrameSigner::new(STREAM, u64::MAX - 1);
    let outgoing = |epoch, frame, keyframe| OutgoingStatement {
        epoch,
        frame,
        keyframe,
        digest: digest(&[vec![1; 40]]),
        liveness: None,
    };
    let mut sign = |epoch, frame, keyframe| {
        signer
            .sign(&identity, &outgoing(epoch, frame, keyframe))
            .map(|(s, _)| s)
    };
    assert_eq!(sign(0, 0, false), Err(SignError::NoKeyframe));
    assert_eq!(
        sign(1, 5, true).map(|made| (made.group, made.index)),
        Ok((u64::MAX - 1, 0))
    );
    assert_eq!(sign(1, 5, false), Err(SignError::Order));
    assert_eq!(sign(0, 9, false), Err(SignError::Order));
    assert_eq!(
        sign(1, 7, false).map(|made| (made.group, made.index)),
        Ok((u64::MAX - 1, 1))
    );
    assert_eq!(sign(2, 0, false).map(|made| made.index), Ok(2));
    assert_eq!(sign(2, 1, true), Err(SignError::Numbers));
}
