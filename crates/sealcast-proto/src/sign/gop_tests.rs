//! Groups of pictures and their signatures, certificates and keys.

use super::test_camera::{Camera, STREAM, SentFrame};
use std::time::Duration;

use super::*;
use crate::wire::Malformed;

const NOW: Duration = Duration::ZERO;

fn take(verifier: &mut GopVerifier, frames: &[SentFrame]) {
    for frame in frames {
        assert_eq!(verifier.took(NOW, &frame.statement), Taken::Waiting);
    }
}

/// Two groups of pictures, and the message that signs the first.
fn two_groups(camera: &mut Camera) -> (Vec<SentFrame>, GopSignature, Vec<SentFrame>) {
    let first = camera.group(5);
    let mut second = camera.group(3);
    let part = second[0].part.take().expect("a keyframe ends the group before");
    let signed = camera.sign(part);
    (first, signed, second)
}

#[test]
fn a_group_of_pictures_is_proven() {
    let mut camera = Camera::new();
    let mut verifier = GopVerifier::new(STREAM).with_key(camera.gop_key());
    let (first, signed, second) = two_groups(&mut camera);
    let message = signed.to_bytes();
    assert_eq!(message.len(), 3358 + 32 * 5);
    take(&mut verifier, &first);
    let proven = |group, follows| {
        Ok(GopVerdict {
            stream: STREAM,
            group,
            outcome: GopOutcome::Proven,
            follows,
        })
    };
    assert_eq!(verifier.verify(&message), proven(100, true));
    assert_eq!(verifier.verify(&message), Err(GopRefusal::Repeated));
    take(&mut verifier, &second);
    let last = camera.parts.close().expect("three frames wait");
    assert!(camera.parts.close().is_none());
    assert_eq!(verifier.verify(&camera.sign(last).to_bytes()), proven(101, true));
    assert_eq!(verifier.counts(), ProofCounts::default());
}

#[test]
fn who_lost_frames_verifies_the_others() {
    let mut camera = Camera::new();
    let mut verifier = GopVerifier::new(STREAM).with_key(camera.gop_key());
    let (first, signed, _) = two_groups(&mut camera);
    take(&mut verifier, &[first[0].clone(), first[3].clone()]);
    let verdict = verifier.verify(&signed.to_bytes()).expect("the camera's");
    let missing = vec![1, 2, 4];
    assert_eq!(verdict.outcome, GopOutcome::Incomplete { missing });
    // One that repair brings back late is judged when it comes.
    assert_eq!(verifier.took(NOW, &first[4].statement), Taken::Proven);
    let mut forged = first[1].statement;
    forged.liveness = Some([1; 32]);
    assert_eq!(verifier.took(NOW, &forged), Taken::Forged);
}

#[test]
fn a_frame_that_the_camera_did_not_make_is_found_after_the_group() {
    let mut camera = Camera::new();
    let mut verifier = GopVerifier::new(STREAM).with_key(camera.gop_key());
    let (first, signed, _) = two_groups(&mut camera);
    take(&mut verifier, &first[..2]);
    let mut forged = first[2].statement;
    forged.digest = first[3].statement.digest;
    let mut invented = first[4].statement;
    invented.index = 5;
    verifier.took(NOW, &forged);
    verifier.took(NOW, &invented);
    let verdict = verifier.verify(&signed.to_bytes()).expect("the camera's");
    assert_eq!(verdict.outcome, GopOutcome::Forged { forged: vec![2, 5] });
    assert_eq!(verifier.counts().forged, 2);
}

#[test]
fn a_group_that_never_ends_is_signed_in_parts() {
    let mut camera = Camera::new();
    let mut verifier = GopVerifier::new(STREAM).with_key(camera.gop_key());
    let mut parts = Vec::new();
    for index in 0..600 {
        let mut frame = camera.frame(index == 0);
        verifier.took(NOW, &frame.statement);
        parts.extend(frame.part.take());
    }
    parts.extend(camera.parts.close());
    let messages: Vec<Vec<u8>> = parts.into_iter().map(|part| camera.sign(part).to_bytes()).collect();
    let lengths: Vec<usize> = messages.iter().map(Vec::len).collect();
    assert_eq!(lengths, [MAX_GOP_SIGNATURE, MAX_GOP_SIGNATURE, 3358 + 32 * 88]);
    for message in &messages {
        let verdict = verifier.verify(message).expect("the camera's");
        assert_eq!((verdict.outcome, verdict.follows), (GopOutcome::Proven, true));
    }
}

#[test]
fn a_part_that_was_taken_out_shows() {
    let mut camera = Camera::new();
    let mut verifier = GopVerifier::new(STREAM).with_key(camera.gop_key());
    let mut messages = Vec::new();
    for _ in 0..4 {
        let mut frames = camera.group(2);
        take(&mut verifier, &frames);
        messages.extend(frames[0].part.take().map(|part| camera.sign(part).to_bytes()));
    }
    let mut follows = |at: usize| verifier.verify(&messages[at]).expect("the camera's").follows;
    assert!(follows(0));
    assert!(!follows(2));
}

#[test]
fn a_message_that_is_not_the_cameras_is_refused() {
    let mut camera = Camera::new();
    let mut verifier = GopVerifier::new(STREAM).with_key(camera.gop_key());
    let (first, signed, _) = two_groups(&mut camera);
    take(&mut verifier, &first);
    let good = signed.to_bytes();
    // Each field of the head, the signature, a leaf.
    for at in [4, 8, 16, 17, 48, 49, 3357, 3358, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let refused = verifier.verify(&bad).expect_err("it was altered");
        let malformed = at == 4 || at == 8;
        let expected = if malformed {
            GopRefusal::Malformed
        } else {
            GopRefusal::Signature
        };
        assert_eq!(refused, expected, "byte {at}");
    }
    let mut stream = good.clone();
    stream[2] = 2;
    assert_eq!(verifier.verify(&stream), Err(GopRefusal::Stream));
    let mut other = GopVerifier::new(STREAM).with_key(Camera::with_seed(8).gop_key());
    assert_eq!(other.verify(&good), Err(GopRefusal::Signature));
    assert!(verifier.verify(&good).is_ok(), "refusals change nothing");
}

#[test]
fn a_message_is_read_as_it_is_written_and_no_other_way() {
    let mut camera = Camera::new();
    let (_, signed, _) = two_groups(&mut camera);
    let good = signed.to_bytes();
    assert_eq!(GopSignature::parse(&good), Ok(signed));
    for cut in [0, 1, 48, 49, 3357, good.len() - 1] {
        assert_eq!(GopSignature::parse(&good[..cut]), Err(Malformed));
    }
    assert_eq!(GopSignature::parse(&[&good[..], &[0]].concat()), Err(Malformed));
    let bounds: [(usize, u8); 6] = [(0, 2), (2, 0), (2, 16), (4, 0), (3, 2), (8, 1)];
    for (at, value) in bounds {
        let mut bad = good.clone();
        bad[at] = value;
        assert_eq!(GopSignature::parse(&bad), Err(Malformed), "byte {at}");
    }
}

#[test]
fn a_certificate_is_accepted_from_its_camera_and_with_its_pin() {
    let (camera, other) = (Camera::new(), Camera::with_seed(8));
    let certificate = camera.certificate();
    let bytes = certificate.to_bytes();
    assert_eq!(bytes.len(), CERTIFICATE_LEN);
    assert_eq!(Certificate::parse(&bytes), Ok(certificate.clone()));
    assert_eq!(Certificate::parse(&bytes[1..]), Err(Malformed));
    assert_eq!(Certificate::parse(&[&bytes[..], &[0]].concat()), Err(Malformed));

    let id = camera.gop_key().id();
    assert!(certificate.verify(&camera.peer(), Some(&id)).is_ok());
    let pinned = certificate.verify(&camera.peer(), Some(&other.gop_key().id()));
    assert_eq!(pinned.err(), Some(CertificateError::Pinned));
    let others = certificate.verify(&other.peer(), None);
    assert_eq!(others.err(), Some(CertificateError::Signature));
    let mut altered = bytes;
    altered[7] ^= 1;
    let altered = Certificate::parse(&altered).expect("the form is right");
    assert_eq!(
        altered.verify(&camera.peer(), None).err(),
        Some(CertificateError::Signature)
    );
    assert_eq!(
        altered.verify(&camera.peer(), Some(&id)).err(),
        Some(CertificateError::Pinned)
    );
}
