//! Sealing with the sealer's number at hand.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::suite::RECOMMENDED;
use super::{Exhausted, RecordMeta, SealLimits, Sealer};
use crate::keys::{EpochSecret, Secret, Side};
use crate::vectors::{Hex, load};
use crate::wire::{Flags, HEADER_LEN, Header, Kind};

#[derive(Deserialize)]
struct File {
    sealed: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    suite: u8,
    direction: String,
    purpose: String,
    epoch: u64,
    epoch_secret: Hex,
    payload: Hex,
    record: Hex,
}

#[test]
fn every_record_of_the_reference_is_sealed_byte_for_byte() {
    let cases = load::<File>("records").sealed;
    assert_eq!(cases.len(), 100);
    for case in cases {
        let suite = RECOMMENDED
            .iter()
            .find(|suite| suite.id == case.suite)
            .expect("a suite");
        let side = if case.direction == "i" {
            Side::Initiator
        } else {
            Side::Responder
        };
        let secret = Secret::from_bytes(&case.epoch_secret.array());
        let keys = EpochSecret::new(secret, case.epoch).keys(suite, side, SealLimits::COUNTER);
        let mut sealer = if case.purpose == "control" {
            keys.control_sealer
        } else {
            keys.media_sealer
        };
        let header = Header::parse(&case.record.0).expect("a record");
        let meta = RecordMeta {
            flags: header.flags,
            stream: header.stream,
            timestamp: header.timestamp,
        };
        let parts = case.payload.0.split_at(case.payload.0.len() / 3);
        sealer.skip_to(u64::from(header.seq));
        let mut record = b"earlier".to_vec();
        let sealed = sealer.seal(meta, &[parts.0, parts.1], &mut record);
        assert_eq!(sealed, Ok(()), "{}", case.name);
        assert_eq!(record[7..], case.record.0, "{}", case.name);
    }
}

fn meta() -> RecordMeta {
    RecordMeta {
        flags: Flags::frame(false, true, true),
        stream: 1,
        timestamp: 0,
    }
}

fn sealer(limits: SealLimits) -> Sealer {
    let secret = EpochSecret::new(Secret::from_bytes(&[1; 32]), 0);
    secret.keys(&RECOMMENDED[0], Side::Initiator, limits).media_sealer
}

#[test]
fn the_last_number_is_sealed_and_none_after_it() {
    let mut sealer = sealer(SealLimits::COUNTER);
    sealer.skip_to(u64::from(u32::MAX));
    let mut out = Vec::new();
    assert_eq!(sealer.seal(meta(), &[b"last"], &mut out), Ok(()));
    assert_eq!(Header::parse(&out).expect("a record").seq, u32::MAX);
    let length = out.len();
    for _ in 0..3 {
        assert_eq!(sealer.seal(meta(), &[b"more"], &mut out), Err(Exhausted));
    }
    assert_eq!(out.len(), length, "nothing is written once the key is spent");
}

#[test]
fn a_limit_above_the_counters_is_lowered_to_it() {
    let mut sealer = sealer(SealLimits {
        records: u64::MAX,
        blocks: u64::MAX,
    });
    sealer.skip_to(1 << 32);
    assert_eq!(sealer.seal(meta(), &[], &mut Vec::new()), Err(Exhausted));
}

#[test]
fn the_limit_on_blocks_counts_every_begun_block_and_three_for_each_record() {
    let limits = SealLimits {
        records: 100,
        blocks: 3 + 4 + 5 + 3,
    };
    let mut sealer = sealer(limits);
    let mut out = Vec::new();
    for payload in [0, 16, 17, 0] {
        assert_eq!(sealer.seal(meta(), &[&vec![0; payload]], &mut out), Ok(()));
    }
    assert_eq!(sealer.seal(meta(), &[], &mut out), Err(Exhausted));
    assert_eq!(sealer.sealed(), 4);
}

#[test]
fn a_refused_record_leaves_the_buffer_untouched() {
    let mut sealer = sealer(SealLimits { records: 0, blocks: 99 });
    let mut record = [7; 60];
    assert_eq!(sealer.seal_in_place(meta(), &mut record), Err(Exhausted));
    assert_eq!(record, [7; 60]);
}

#[test]
fn no_two_sealers_share_a_key_and_a_nonce() {
    let mut sealed = BTreeSet::new();
    let mut count = 0;
    for suite in &RECOMMENDED {
        for session in [1, 2] {
            for epoch in [0, 1, 1 << 16] {
                let secret = EpochSecret::new(Secret::from_bytes(&[session; 32]), epoch);
                for side in [Side::Initiator, Side::Responder] {
                    let mut keys = secret.keys(suite, side, SealLimits::COUNTER);
                    for kind in [Kind::Media, Kind::Control] {
                        let sealer = match kind {
                            Kind::Media => &mut keys.media_sealer,
                            Kind::Control => &mut keys.control_sealer,
                        };
                        for _ in 0..4 {
                            // Zeros sealed are the key stream: the same key and nonce would show it twice.
                            let mut record = Vec::new();
                            sealer.seal(meta(), &[&[0; 32]], &mut record).expect("a fresh key");
                            sealed.insert(record[HEADER_LEN..HEADER_LEN + 32].to_vec());
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!((sealed.len(), count), (384, 384));
}
