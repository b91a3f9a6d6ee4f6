//! `vectors/signatures.json`: statements, proofs, signatures of groups of pictures, challenges and answers.

use std::time::Duration;

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use sealcast_proto::keys::{Identity, PeerId};
use sealcast_proto::live::{Answer, Challenge, Challenges};
use sealcast_proto::sign::{
    Certificate, CertificateError, FrameDigest, FrameProof, FrameSigner, FrameVerifier, GopOutcome, GopSigner,
    GopVerifier, OutgoingStatement, ReceivedFrame, Statement, gop_key_id, gop_seed, record_hash,
};
use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    signers: Vec<Signer>,
    proofs: Vec<Proof>,
    sequences: Vec<Sequence>,
    keys: Vec<Key>,
    certificates: Vec<CertificateCase>,
    gops: Vec<Gop>,
    challenges: Vec<Batch>,
    refused_answers: Vec<Refused>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signer {
    name: String,
    #[serde(rename = "expect")]
    _expect: String,
    seed: Hex,
    camera: Hex,
    stream: u16,
    first_group: u64,
    frames: Vec<SignedFrame>,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedFrame {
    epoch: u64,
    frame: u64,
    keyframe: bool,
    liveness: Option<Hex>,
    records: Vec<Hex>,
    digest: Hex,
    statement: Hex,
    #[serde(rename = "leaf")]
    _leaf: Hex,
    proof: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    content: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    bytes: Hex,
    index: Option<u32>,
    records: Option<u32>,
    epoch: Option<u64>,
    group: Option<u64>,
    frame: Option<u64>,
    check: Option<Hex>,
    liveness: Option<Hex>,
    signature: Option<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sequence {
    name: String,
    #[serde(rename = "expect")]
    _expect: String,
    #[serde(rename = "why")]
    _why: String,
    camera: Hex,
    stream: u16,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    expect: String,
    stream: u16,
    epoch: u64,
    records: Vec<Hex>,
    proof: Option<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "expect")]
    _expect: String,
    identity_seed: Hex,
    seed: Hex,
    key: Hex,
    key_id: Hex,
    certificate: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CertificateCase {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    bytes: Hex,
    camera: Hex,
    pinned: Option<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gop {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    outcome: Option<String>,
    certificate: Hex,
    camera: Hex,
    stream: u16,
    message: Hex,
    taken: Vec<Taken>,
    indexes: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Taken {
    index: u32,
    epoch: u64,
    group: u64,
    frame: u64,
    liveness: Option<Hex>,
    records: Vec<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    name: String,
    #[serde(rename = "expect")]
    _expect: String,
    challenges: Vec<Hex>,
    root: Hex,
    answers: Vec<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: String,
    bytes: Hex,
}

fn digest(records: &[Hex]) -> FrameDigest {
    let hashes: Vec<_> = records.iter().map(|record| record_hash(&record.0)).collect();
    FrameDigest::of_hashes(&hashes).expect("a frame has records")
}

fn file() -> File {
    load("signatures")
}

#[test]
fn statements_proofs_and_parts_are_the_references() {
    for case in file().signers {
        let identity = Identity::from_seed(&case.seed.array());
        assert_eq!(identity.peer_id().0, case.camera.array(), "{}", case.name);
        let mut signer = FrameSigner::new(case.stream, case.first_group);
        let mut gops = GopSigner::new(identity.peer_id());
        let mut parts = Vec::new();
        for frame in &case.frames {
            let digest = digest(&frame.records);
            assert_eq!(digest.digest(), frame.digest.array(), "{}", case.name);
            let outgoing = OutgoingStatement {
                epoch: frame.epoch,
                frame: frame.frame,
                keyframe: frame.keyframe,
                digest,
                liveness: frame.liveness.as_ref().map(Hex::array),
            };
            let (statement, proof) = signer.sign(&identity, &outgoing).expect("in order");
            assert_eq!(statement.to_bytes(), frame.statement.array(), "{}", case.name);
            assert_eq!(proof.to_bytes(), frame.proof.0, "{}", case.name);
            parts.extend(gops.push(&statement));
        }
        parts.extend(gops.close());
        let contents: Vec<&[u8]> = parts.iter().map(|part| part.content()).collect();
        let expected: Vec<&[u8]> = case.parts.iter().map(|part| &part.content.0[..]).collect();
        assert_eq!(contents, expected, "{}", case.name);
    }
}

#[test]
fn proofs_are_read_or_refused_as_by_the_reference() {
    let mut good = 0;
    for case in file().proofs {
        let parsed = FrameProof::parse(&case.bytes.0);
        if case.expect == "malformed" {
            assert!(parsed.is_err(), "{}", case.name);
            continue;
        }
        let fields = FrameProof {
            index: case.index.expect("ok cases have fields"),
            records: case.records.expect("ok cases have fields"),
            epoch: case.epoch.expect("ok cases have fields"),
            group: case.group.expect("ok cases have fields"),
            frame: case.frame.expect("ok cases have fields"),
            check: case.check.expect("ok cases have fields").array(),
            liveness: case.liveness.as_ref().map(Hex::array),
            signature: case.signature.as_ref().map(Hex::array),
        };
        assert_eq!(fields.to_bytes(), case.bytes.0, "{}", case.name);
        assert_eq!(parsed, Ok(fields), "{}", case.name);
        good += 1;
    }
    assert_eq!(good, 5);
}

#[test]
fn frames_are_verified_or_refused_as_by_the_reference() {
    for case in file().sequences {
        let mut verifier = FrameVerifier::new(PeerId(case.camera.array()), case.stream);
        for (at, step) in case.steps.iter().enumerate() {
            let frame = ReceivedFrame {
                digest: digest(&step.records),
                stream: step.stream,
                epoch: step.epoch,
            };
            let proof = step.proof.as_ref().map(|proof| &proof.0[..]);
            let outcome = verifier.verify(&frame, proof);
            let outcome = outcome.map_or_else(|reason| reason.to_string(), |_| "ok".to_owned());
            assert_eq!(outcome, step.expect, "{}, step {at}", case.name);
        }
    }
}

#[test]
fn keys_and_certificates_are_the_references() {
    for case in file().keys {
        let identity = Identity::from_seed(&case.identity_seed.array());
        let seed = gop_seed(&identity);
        assert_eq!(seed[..], case.seed.0);
        let pair = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, &seed[..]).expect("32 bytes");
        assert_eq!(pair.public_key().as_ref(), case.key.0);
        assert_eq!(gop_key_id(&case.key.array()), case.key_id.array());
        let certificate = Certificate::issue(&identity, &case.key.array());
        assert_eq!(certificate.to_bytes(), case.certificate.0);
    }
    for case in file().certificates {
        let pinned = case.pinned.as_ref().map(Hex::array);
        let outcome = Certificate::parse(&case.bytes.0).map(|certificate| {
            let verified = certificate.verify(&PeerId(case.camera.array()), pinned.as_ref());
            match verified {
                Ok(_) => "ok",
                Err(CertificateError::Pinned) => "pinned",
                Err(CertificateError::Signature) => "signature",
                Err(CertificateError::Key) => "key",
            }
        });
        assert_eq!(outcome.unwrap_or("malformed"), case.expect, "{}", case.name);
    }
}

#[test]
fn groups_of_pictures_are_judged_as_by_the_reference() {
    for case in file().gops {
        let certificate = Certificate::parse(&case.certificate.0).expect("the form is right");
        let key = certificate.verify(&PeerId(case.camera.array()), None);
        let mut verifier = GopVerifier::new(case.stream).with_key(key.expect("the camera's"));
        for taken in &case.taken {
            let statement = Statement {
                stream: case.stream,
                index: taken.index,
                epoch: taken.epoch,
                group: taken.group,
                frame: taken.frame,
                digest: digest(&taken.records),
                liveness: taken.liveness.as_ref().map(Hex::array),
            };
            verifier.took(Duration::ZERO, &statement);
        }
        let (outcome, indexes) = match verifier.verify(&case.message.0) {
            Err(reason) => {
                assert_eq!(reason.to_string(), case.expect, "{}", case.name);
                continue;
            }
            Ok(verdict) => match verdict.outcome {
                GopOutcome::Proven => ("proven", vec![]),
                GopOutcome::Incomplete { missing } => ("incomplete", missing),
                GopOutcome::Forged { forged } => ("forged", forged),
            },
        };
        assert_eq!(
            (Some(outcome), &indexes),
            (case.outcome.as_deref(), &case.indexes),
            "{}",
            case.name
        );
        assert_eq!(case.expect, "ok");
    }
}

#[test]
fn roots_and_answers_are_the_references() {
    for case in file().challenges {
        let mut challenges = Challenges::new(case.challenges.len() as u16);
        for (slot, challenge) in case.challenges.iter().enumerate() {
            challenges
                .put(slot as u16, Challenge(challenge.array()))
                .expect("a slot");
        }
        let batch = challenges.fold(usize::MAX).expect("they wait");
        assert_eq!(batch.root(), case.root.array(), "{}", case.name);
        let answers: Vec<Hex> = batch.answers().map(|(_, answer)| Hex(answer.to_bytes())).collect();
        assert_eq!(answers, case.answers, "{}", case.name);
        for answer in &case.answers {
            assert!(Answer::parse(&answer.0).is_ok(), "{}", case.name);
        }
    }
    for case in file().refused_answers {
        assert_eq!(case.expect, "malformed");
        assert!(Answer::parse(&case.bytes.0).is_err(), "{}", case.name);
    }
}
