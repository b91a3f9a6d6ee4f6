//! All parsers of source signatures and liveness: accepted input is written again as the same bytes. No frame is
//! verified that the camera did not sign, and no signature of a group, whatever comes before.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::clock::{Arrival, ClockReading, Now};
use sealcast_proto::keys::Identity;
use sealcast_proto::live::{Answer, MAX_ANSWER};
use sealcast_proto::sign::{
    CERTIFICATE_LEN, Certificate, Commitment, FrameDigest, FrameProof, FrameVerifier, GopSignature, MAX_FRAME_PROOF,
    MAX_GOP_SIGNATURE, MAX_WAITING, ReceivedFrame, SignMode, Statement, TeslaCamera, TeslaNews, TeslaReceiver,
    TeslaTag, TeslaTimes, TeslaViewer,
};

/// Few keys, which are made for each input.
const TIMES: TeslaTimes = TeslaTimes {
    interval: Duration::from_millis(100),
    delay: 2,
    intervals: 8,
};

#[derive(Debug, Arbitrary)]
struct Input {
    bytes: Vec<u8>,
    text: String,
    frames: Vec<Frame>,
    tags: Vec<(u64, i64, [u8; 32], [u8; 20])>,
}

#[derive(Debug, Arbitrary)]
struct Frame {
    record: [u8; 32],
    stream: u16,
    epoch: u64,
    proof: Option<Vec<u8>>,
}

fn parsers(bytes: &[u8]) {
    if let Ok(proof) = FrameProof::parse(bytes) {
        assert_eq!(proof.to_bytes(), bytes);
        assert!(bytes.len() <= MAX_FRAME_PROOF);
    }
    if let Ok(signature) = GopSignature::parse(bytes) {
        assert_eq!(signature.to_bytes(), bytes);
        assert!(bytes.len() <= MAX_GOP_SIGNATURE);
    }
    if let Ok(certificate) = Certificate::parse(bytes) {
        assert_eq!(certificate.to_bytes(), bytes);
        assert_eq!(bytes.len(), CERTIFICATE_LEN);
        let camera = Identity::from_seed(&[1; 32]).peer_id();
        assert!(certificate.verify(&camera, None).is_err());
    }
    if let Ok(commitment) = Commitment::parse(bytes) {
        assert_eq!(commitment.to_bytes(), bytes);
    }
    if let Ok(tag) = TeslaTag::parse(bytes) {
        assert_eq!(tag.to_bytes()[..], *bytes);
    }
    if let Ok(answer) = Answer::parse(bytes) {
        assert_eq!(answer.to_bytes(), bytes);
        assert!(bytes.len() <= MAX_ANSWER);
    }
}

fn frames(frames: &[Frame]) {
    let camera = Identity::from_seed(&[1; 32]).peer_id();
    let (mut signed, mut claimed) = (FrameVerifier::new(camera, 1), FrameVerifier::new(camera, 1));
    for frame in frames {
        let received = ReceivedFrame {
            digest: FrameDigest::of_hashes(&[frame.record]).expect("one record"),
            stream: frame.stream,
            epoch: frame.epoch,
        };
        let proof = frame.proof.as_deref();
        assert!(signed.verify(&received, proof).is_err(), "the camera signed nothing");
        let before = claimed.accepted();
        let accepted = claimed.claim(&received, proof).is_ok();
        assert_eq!(claimed.accepted(), before + u64::from(accepted));
    }
    assert_eq!(signed.refused().total(), frames.len() as u64);
}

/// A commitment of any form, and tags that follow no chain. What waits is bounded.
fn tesla(bytes: &[u8], tags: &[(u64, i64, [u8; 32], [u8; 20])]) {
    let Ok(commitment) = Commitment::parse(bytes) else {
        return;
    };
    let mut receiver = TeslaReceiver::new(&commitment);
    let mut taken = 0;
    for (arrived, offset, disclosed, rest) in tags.iter().take(4) {
        let tag = TeslaTag::parse(&[&rest[..4], disclosed, &rest[4..]].concat()).expect("52 bytes");
        let clock = ClockReading {
            offset: *offset,
            spread: 0,
            uncertainty: arrived >> 32,
        };
        let statement = Statement {
            stream: 1,
            index: 0,
            epoch: 0,
            group: 0,
            frame: taken,
            digest: FrameDigest::of_hashes(&[*disclosed]).expect("one record"),
            liveness: None,
        };
        taken += u64::from(receiver.receive(*arrived, &clock, &statement, &tag).is_ok());
    }
    assert!(std::iter::from_fn(|| receiver.poll()).count() <= MAX_WAITING.min(taken as usize));
}

/// Tags that come to a viewer with a chain of the camera: who knows no key of it gets nothing proved.
fn tesla_viewer(bytes: &[u8], tags: &[(u64, i64, [u8; 32], [u8; 20])]) {
    let identity = Identity::from_seed(&[1; 32]);
    let mut camera = TeslaCamera::new(1, TIMES).expect("within the bounds");
    let mut viewer = TeslaViewer::new(identity.peer_id(), 1);
    let _ = viewer.take(bytes);
    assert!(camera.renew(Now::default(), &identity, [9; 32]));
    let commitment = camera.commitments(Now::default()).next().expect("a chain").to_vec();
    viewer.take(&commitment).expect("the camera's");
    for (arrived, _, disclosed, rest) in tags.iter().take(8) {
        let tag = TeslaTag::parse(&[&rest[..4], disclosed, &rest[4..]].concat()).expect("52 bytes");
        let statement = Statement {
            stream: 1,
            index: 0,
            epoch: 0,
            group: 0,
            frame: *arrived,
            digest: FrameDigest::of_hashes(&[*disclosed]).expect("one record"),
            liveness: None,
        };
        let arrival = Arrival {
            at: Duration::ZERO,
            peer_at_latest: (arrived % 7 != 0).then_some(arrived >> 20),
        };
        let _ = viewer.receive(arrival, &statement, &tag);
        while let Some(news) = viewer.poll() {
            assert!(!matches!(news, TeslaNews::Proved { .. }), "nobody knows a key");
        }
    }
    assert!(viewer.waiting() <= MAX_WAITING.min(tags.len()));
}

fuzz_target!(|input: Input| {
    parsers(&input.bytes);
    if let Ok(mode) = input.text.parse::<SignMode>() {
        assert_eq!(mode.to_string(), input.text);
    }
    frames(&input.frames);
    tesla(&input.bytes, &input.tags);
    tesla_viewer(&input.bytes, &input.tags);
});
