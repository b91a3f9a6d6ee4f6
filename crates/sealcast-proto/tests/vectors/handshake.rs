//! `vectors/handshake.json`: complete transcripts byte for byte, and every refusal.

use std::collections::BTreeMap;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use sealcast_proto::keys::{
    Agreed, EpochSecret, InitiatorStep, MechanismError, PeerId, PskName, ResponderStep, Secret, Side,
};
use sealcast_proto::seal::{RecordMeta, SealLimits};
use sealcast_proto::wire::Flags;
use sealcast_testkit::handshake::{self, File, Transcript, initiator, outcome, responder};
use sealcast_testkit::recorded::Recording;
use sealcast_testkit::vectors::{Hex, load};

fn sha256(parts: &[&[u8]]) -> Vec<u8> {
    digest(&SHA256, &parts.concat()).as_ref().to_vec()
}

fn entry(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes()[..], message].concat()
}

/// The first media record under an epoch secret. Equal records mean equal secrets.
fn first_record(epoch: &EpochSecret, agreed: &Agreed) -> Vec<u8> {
    let mut keys = epoch.keys(&agreed.suite, Side::Responder, SealLimits::COUNTER);
    let meta = RecordMeta {
        flags: Flags::frame(true, true, true),
        stream: 1,
        timestamp: 5,
    };
    let mut record = Vec::new();
    keys.media_sealer
        .seal(meta, &[b"picture"], &mut record)
        .expect("a fresh key");
    record
}

fn check_agreed(case: &Transcript, agreed: &Agreed, (peer, wish): (&Hex, &Hex)) {
    assert_eq!(agreed.session_id[..], case.session_id.0, "{}", case.name);
    assert_eq!(
        (agreed.suite.id, agreed.mechanism.id()),
        (case.suite, case.mechanism),
        "{}",
        case.name
    );
    assert_eq!(
        (agreed.peer.id, agreed.peer.psk),
        (
            PeerId(peer.array()),
            case.psk_name.as_ref().map(|name| PskName(name.array()))
        ),
        "{}",
        case.name
    );
    let wished = (wish.0 != [0; 66]).then(|| handshake::wish(&wish.array()));
    assert_eq!(agreed.peer.wish, wished, "{}", case.name);
    assert_eq!(agreed.binding[..], case.binding.0, "{}", case.name);
    assert_eq!(agreed.enrolment.reveal()[..], case.enrolment.0, "{}", case.name);
    let epoch_0 = EpochSecret::new(Secret::from_bytes(&case.epoch_0.array()), 0);
    assert_eq!(
        first_record(&agreed.secret, agreed),
        first_record(&epoch_0, agreed),
        "{}",
        case.name
    );
}

/// Runs both ends and asserts that every message equals the recorded one.
fn replay(case: &Transcript, file: &File) {
    let share = case.key_pairs.last().expect("at least one hello").share.0.as_slice();
    let recording = || {
        Recording::new(
            &case.key_pairs,
            Some(&case.encapsulation),
            Some(share),
            Err(MechanismError::Peer),
        )
    };
    let (ours, theirs) = (recording(), recording());
    let (mut initiating, hello) = initiator(&file.configs[&case.initiator], &|id| ours.mechanism(id));
    let mut responding = responder(&file.configs[&case.responder], &|id| theirs.mechanism(id));
    let mut messages = case.messages.iter();
    let mut check = |from: &str, message: &[u8]| {
        let recorded = messages.next().expect("no more messages than recorded");
        let kind = ["hello", "retry", "reply", "finish"][usize::from(message[0]) - 1];
        assert_eq!(
            (from, kind),
            (recorded.from.as_str(), recorded.kind.as_str()),
            "{}",
            case.name
        );
        assert_eq!(message, recorded.bytes.0, "{}: {kind}", case.name);
    };
    let mut sent = hello;
    loop {
        check("initiator", &sent);
        let answer = match responding.handle(&sent).expect(&case.name) {
            ResponderStep::Send(answer) => answer,
            ResponderStep::Done(_) => panic!("{}: done before the finish", case.name),
        };
        check("responder", &answer);
        match initiating.handle(&answer).expect(&case.name) {
            InitiatorStep::Send(hello) => sent = hello,
            InitiatorStep::Done(finish, agreed) => {
                check("initiator", &finish);
                check_agreed(case, &agreed, (&case.identity_r, &case.wish_r));
                let ResponderStep::Done(agreed) = responding.handle(&finish).expect(&case.name) else {
                    panic!("{}: the finish is the last message", case.name)
                };
                check_agreed(case, &agreed, (&case.identity_i, &case.wish_i));
                break;
            }
        }
    }
    assert!(messages.next().is_none(), "{}: as many messages as recorded", case.name);
}

/// Checks what is derived before the handshake. Returns the salt of `hs`.
fn check_hello_keys(case: &Transcript) -> [u8; 32] {
    let early = Secret::extract(b"sealcast2 early", &case.psk.0);
    let mut salt = [0; 32];
    for early in [early, Secret::from_bytes(&case.early.array())] {
        early.expand(b"handshake", &[], &mut salt);
        let mut name = [0; 8];
        early.expand(b"name", &[], &mut name);
        let named = case.psk_name.as_ref().is_none_or(|expected| expected.0 == name);
        assert!(
            named && case.psk_name.is_some() == (case.psk.0 != [0; 32]),
            "{}",
            case.name
        );
        let mut binder_key = [0; 32];
        early.expand(b"binder", &case.identity_r.0, &mut binder_key);
        assert!(
            case.binder_key.as_ref().is_none_or(|key| key.0 == binder_key),
            "{}",
            case.name
        );
    }
    let mut mac_key = [0; 32];
    Secret::extract(b"sealcast2 mac", &case.identity_r.0).expand(b"mac", &[], &mut mac_key);
    assert_eq!(mac_key[..], case.mac_key.0, "{}", case.name);
    salt
}

/// Checks the intermediate values: hashes, keys, signatures, proofs.
fn check_insides(case: &Transcript) {
    assert_eq!(case.ss, case.encapsulation.ss);
    let [.., reply, finish] = &case.messages[..] else {
        panic!("{}: too few messages", case.name)
    };
    let (reply, finish) = (&reply.bytes.0, &finish.bytes.0);
    let transcript = match &case.messages[..] {
        [hello, _, _] => entry(&hello.bytes.0),
        [first, retry, second, _, _] => {
            let stand_in = [&[0xFE][..], &sha256(&[&first.bytes.0])].concat();
            [entry(&stand_in), entry(&retry.bytes.0), entry(&second.bytes.0)].concat()
        }
        _ => panic!("{}: three messages, or five with a retry", case.name),
    };
    assert_eq!(transcript, case.transcript.0, "{}", case.name);
    let head = &reply[..reply.len() - 178 - 2];
    assert_eq!(sha256(&[&transcript, &entry(head)]), case.th1.0, "{}", case.name);
    assert_eq!(sha256(&[&transcript, &entry(reply)]), case.th2.0, "{}", case.name);
    assert_eq!(
        sha256(&[&transcript, &entry(reply), &entry(finish)]),
        case.th3.0,
        "{}",
        case.name
    );
    let salt = check_hello_keys(case);
    for hs in [Secret::extract(&salt, &case.ss.0), Secret::from_bytes(&case.hs.array())] {
        let derived = [
            ("reply key", &case.th1, &case.reply_key),
            ("reply iv", &case.th1, &case.reply_iv),
            ("finish key", &case.th2, &case.finish_key),
            ("finish iv", &case.th2, &case.finish_iv),
            ("epoch", &case.th3, &case.epoch_0),
            ("session id", &case.th3, &case.session_id),
            ("binding", &case.th3, &case.binding),
            ("enrolment", &case.th3, &case.enrolment),
        ];
        for (label, context, expected) in derived {
            let mut out = vec![0; expected.0.len()];
            hs.expand(label.as_bytes(), &context.0, &mut out);
            assert_eq!(out, expected.0, "{}: {label}", case.name);
        }
    }
    let said = [&case.identity_r.0[..], &case.wish_r.0, &case.signature_r.0].concat();
    assert_eq!(
        open(&case.reply_key, &case.reply_iv, &case.th1, &reply[reply.len() - 178..]),
        said
    );
    let said = [&case.identity_i.0[..], &case.wish_i.0, &case.signature_i.0].concat();
    assert_eq!(open(&case.finish_key, &case.finish_iv, &case.th2, &finish[3..]), said);
    let signatures = [
        (&case.identity_r, &case.signed_r, &case.signature_r),
        (&case.identity_i, &case.signed_i, &case.signature_i),
    ];
    for (identity, signed, signature) in signatures {
        let key = UnparsedPublicKey::new(&ED25519, &identity.0);
        key.verify(&signed.0, &signature.0).expect(&case.name);
    }
}

fn open(key: &Hex, iv: &Hex, th: &Hex, sealed: &[u8]) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key.0).expect("32 bytes"));
    let mut part = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(iv.array());
    key.open_in_place(nonce, Aad::from(&th.0), &mut part)
        .expect("the key is right")
        .to_vec()
}

#[test]
fn both_ends_reproduce_every_transcript_byte_for_byte() {
    let file = load::<File>("handshake");
    assert_eq!((file.transcripts.len(), file.configs.len()), (33, 100));
    for case in &file.transcripts {
        assert_eq!(case.expect, "ok");
        check_insides(case);
        replay(case, &file);
    }
    let retried = file.transcripts.iter().filter(|case| case.messages.len() == 5);
    assert_eq!(retried.count(), 7);
}

#[test]
fn every_bad_message_is_refused_for_its_reason_by_the_end_that_gets_it() {
    let file = load::<File>("handshake");
    assert_eq!(file.refused.len(), 1434);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &file.refused {
        let otherwise = if case.expect == "share" {
            Err(MechanismError::Peer)
        } else {
            Ok(())
        };
        let keys = case.key_pairs.as_deref().unwrap_or_default();
        let recording = Recording::new(keys, case.encapsulation.as_ref(), None, otherwise);
        let result = outcome(case, &file.configs[&case.config], &|id| recording.mechanism(id));
        match result {
            Err(error) => assert_eq!(error.reason(), case.expect, "{}", case.name),
            Ok(_) => panic!("{}: accepted", case.name),
        }
        *counts.entry(&case.expect).or_default() += 1;
    }
    let expected = [
        ("alert", 3),
        ("identity", 18),
        ("mac", 141),
        ("malformed", 607),
        ("no-common-mechanism", 2),
        ("no-common-suite", 2),
        ("not-offered", 47),
        ("own-identity", 4),
        ("psk", 83),
        ("retry", 76),
        ("role", 66),
        ("sealed", 153),
        ("share", 100),
        ("signature", 29),
        ("version", 76),
        ("wish", 24),
        ("wrong-peer", 3),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}
