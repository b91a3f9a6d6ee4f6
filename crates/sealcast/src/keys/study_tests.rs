use std::collections::HashSet;

use sealcast_cipher::IMPLEMENTATIONS;
use sealcast_proto::keys::{EpochKeys, EpochSecret, Secret, Side};
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::seal::{RecordMeta, SealLimits, Sealed};
use sealcast_proto::wire::{Accept, Flags};

use super::*;

#[test]
fn every_cipher_of_the_laboratory_has_one_suite_and_no_recommended_one_is_among_them() {
    let names: HashSet<_> = STUDY.iter().map(cipher).collect();
    let ciphers = IMPLEMENTATIONS.iter().map(|one| one.facts.name);
    assert_eq!(names, ciphers.chain(["aes-128-ctr", "none", "dose"]).collect());
    let ids: HashSet<_> = STUDY.iter().map(|suite| suite.id).collect();
    assert_eq!(ids.len(), STUDY.len());
    assert!(
        STUDY
            .iter()
            .all(|suite| suite.id >= 224 && suite.name.starts_with("insecure-"))
    );
    assert!(RECOMMENDED.iter().all(|suite| by_cipher(suite.name).is_none()));
}

/// RFC 8439, section 2.8.2, except for the cipher: the MAC of its ciphertext under its one-time key.
#[test]
fn the_tag_is_that_of_rfc_8439() {
    let hex = |text: &str| {
        data_encoding::HEXLOWER_PERMISSIVE
            .decode(text.replace(' ', "").as_bytes())
            .expect("hex")
    };
    let key: [u8; 32] = hex("7bac2b252db447af09b67a55a4e955840ae1d6731075d9eb2a9375783ed553ff")
        .try_into()
        .expect("32");
    let associated = hex("50515253c0c1c2c3c4c5c6c7");
    let ciphertext = hex(
        "d31a8d34648e60db7b86afbc53ef7ec2 a4aded51296e08fea9e2b5a736ee62d6 3dbea45e8ca9671282fafb69da92728b \
         1a71de0a9e060b2905d6a5b67ecd3b36 92ddbd7f2d778b8c9803aee328091b58 fab324e4fad675945585808b4831d7bc \
         3ff4def08e4b7a9de576d26586cec64b 6116",
    );
    let made = tag(Poly1305::new((&key).into()), &associated, &ciphertext);
    assert_eq!(made.as_slice(), hex("1ae10b594f09e26a7e902ecbd0600691"));
}

/// RFC 3686, section 6, test vector 1. The vector's first counter block is our second one, after block zero.
#[test]
fn aes_counts_blocks_as_rfc_3686_does() {
    let key = *b"\xAE\x68\x52\xF8\x12\x10\x67\xCC\x4B\xF7\xA5\x76\x55\x77\xF3\x9E";
    let stream = Stream::new("aes-128-ctr", &key);
    let mut keystream = stream.start([0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0]);
    keystream.xor(&mut [0; 16]);
    let mut block = *b"Single block msg";
    keystream.xor(&mut block);
    let expected = *b"\xE4\x09\x5D\x4F\xB7\xA7\xB3\x79\x2D\x61\x75\xA3\x26\x13\x11\xB8";
    assert_eq!(block, expected);
}

#[test]
fn no_two_records_have_the_same_iv() {
    let base = [0xFF, 0xFE, 0xFD, 0xFC, 0xFB, 0xFA, 0xF9, 0xF8];
    let numbers = [0, 1, 255, 256, u32::MAX - 1, u32::MAX];
    for bytes in [8, 10, 12, 16] {
        let ivs = numbers.map(|counter: u32| {
            let number = [base.as_slice(), &counter.to_be_bytes()].concat();
            let iv = iv(number.try_into().expect("12"), bytes);
            assert!(iv[bytes..].iter().all(|&byte| byte == 0));
            iv
        });
        assert_eq!(HashSet::from(ivs).len(), numbers.len(), "{bytes}");
    }
}

/// Keys of two ends that agreed on the same secret.
fn ends(suite: &Suite) -> [EpochKeys; 2] {
    let secret = EpochSecret::new(Secret::extract(b"study", suite.name.as_bytes()), 0);
    [Side::Responder, Side::Initiator].map(|side| secret.keys(suite, side, SealLimits::COUNTER))
}

fn sealed(keys: &mut EpochKeys, payload: &[u8]) -> Vec<u8> {
    let meta = RecordMeta {
        flags: Flags::frame(false, true, true),
        stream: 1,
        timestamp: 0,
    };
    let mut record = Vec::new();
    let outcome = keys.media_sealer.seal(meta, &[payload], &mut record);
    outcome.expect("the key is fresh");
    record
}

#[test]
fn records_of_every_suite_open_at_the_other_end_and_altered_ones_do_not() {
    // `none` and `dose` take altered records, the second now and then.
    let sealing = STUDY.iter().filter(|suite| suite.id < INSECURE_NONE.id);
    for suite in sealing {
        let [mut ours, mut theirs] = ends(suite);
        for length in [0, 1, 31, 32, 33, 1200, 4096] {
            let payload = vec![0xA5; length];
            let record = sealed(&mut ours, &payload);
            for at in [record.len() - 1, record.len() - TAG_LEN, record.len() - TAG_LEN - 1, 4] {
                let mut altered = record.clone();
                altered[at] ^= 1;
                let opened =
                    Sealed::parse(&mut altered, Accept::EncryptedOnly).and_then(|it| theirs.media_opener.open(it));
                assert!(opened.is_err(), "{} of {length} with byte {at} altered", suite.name);
            }
            let mut arrived = record.clone();
            let opened = Sealed::parse(&mut arrived, Accept::EncryptedOnly).and_then(|it| theirs.media_opener.open(it));
            assert_eq!(
                opened.expect("it is whole").payload(),
                payload,
                "{} of {length}",
                suite.name
            );
        }
        // Sealing the same payload again gives another record.
        let again = [sealed(&mut ours, &[0; 64]), sealed(&mut ours, &[0; 64])]
            .map(|record| record[record.len() - 64..].to_vec());
        assert_ne!(again[0], again[1], "{}", suite.name);
    }
}

#[test]
fn without_protection_payloads_stay_as_they_are_and_altered_ones_are_taken() {
    let [mut ours, mut theirs] = ends(&by_cipher("none").expect("a study suite"));
    let payload = b"a picture for everybody".repeat(50);
    let mut record = sealed(&mut ours, &payload);
    let seen = record.len() - TAG_LEN - payload.len();
    assert_eq!(record[seen..], [&payload[..], &[0; TAG_LEN]].concat());
    record[seen] ^= 1;
    let opened = Sealed::parse(&mut record, Accept::EncryptedOnly).and_then(|it| theirs.media_opener.open(it));
    assert_eq!(opened.expect("nothing is checked").payload()[1..], payload[1..]);
}
