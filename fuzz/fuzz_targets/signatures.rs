//! All parsers of source signatures and liveness: accepted input is written again as the same bytes. No frame is
//! verified that the camera did not sign, and no signature of a group, whatever comes before.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::keys::Identity;
use sealcast_proto::live::{Answer, MAX_ANSWER};
use sealcast_proto::sign::{
    CERTIFICATE_LEN, Certificate, FrameDigest, FrameProof, FrameVerifier, GopSignature, MAX_FRAME_PROOF,
    MAX_GOP_SIGNATURE, ReceivedFrame, SignMode,
};

#[derive(Debug, Arbitrary)]
struct Input {
    bytes: Vec<u8>,
    text: String,
    frames: Vec<Frame>,
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
    if let Ok(answer) = Answer::parse(bytes) {
        assert_eq!(answer.to_bytes(), bytes);
        assert!(bytes.len() <= MAX_ANSWER);
    }
}

fn frames(frames: &[Frame]) {
    let camera = Identity::from_seed(&[1; 32]).peer_id();
    let mut verifier = FrameVerifier::new(camera, 1);
    for frame in frames {
        let received = ReceivedFrame {
            digest: FrameDigest::of_hashes(&[frame.record]).expect("one record"),
            stream: frame.stream,
            epoch: frame.epoch,
        };
        let verified = verifier.verify(&received, frame.proof.as_deref());
        assert!(verified.is_err(), "the camera signed nothing");
    }
    assert_eq!(verifier.refused().total(), frames.len() as u64);
}

fuzz_target!(|input: Input| {
    parsers(&input.bytes);
    if let Ok(mode) = input.text.parse::<SignMode>() {
        assert_eq!(mode.to_string(), input.text);
    }
    frames(&input.frames);
});
