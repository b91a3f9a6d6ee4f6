//! Sealing with direct access to the sealer's number.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::suite::RECOMMENDED;
use super::{Exhausted, Opener, RecordMeta, Refusal, SealLimits, Sealed, Sealer, Suite};
use crate::keys::{EpochSecret, Secret, Side};
use crate::wire::{Accept, BadForm, Flags, HEADER_LEN, Header, Kind};
use sealcast_testkit::vectors::{Hex, load};

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
    assert_eq!(cases.len(), 176);
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
        let secret = EpochSecret::new(secret, case.epoch);
        let keys = secret.keys(suite, side, SealLimits::COUNTER);
        let mut sealer = match &case.purpose[..] {
            "data" => secret.data_keys(suite, side, SealLimits::COUNTER).sealer,
            "control" => keys.control_sealer,
            "cell" => keys.cell_sealer,
            _ => keys.media_sealer,
        };
        let header = Header::parse(&case.record.0, Accept::ClearMedia).expect("a record");
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
    assert_eq!(
        Header::parse(&out, Accept::EncryptedOnly).expect("a record").seq,
        u32::MAX
    );
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
                    let mut data = secret.data_keys(suite, side, SealLimits::COUNTER);
                    for kind in [Kind::Media, Kind::Control, Kind::Cell, Kind::Data] {
                        let sealer = match kind {
                            Kind::Data => &mut data.sealer,
                            Kind::Media => &mut keys.media_sealer,
                            Kind::Control => &mut keys.control_sealer,
                            Kind::Cell => &mut keys.cell_sealer,
                        };
                        for _ in 0..4 {
                            // The ciphertext of zeros is the key stream: a repeated key and nonce would give it twice.
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
    assert_eq!((sealed.len(), count), (768, 768));
}

/// A media record under the first epoch of a fixed session, and the opener for it.
fn sealed(suite: &Suite, flags: Flags, payload: &[u8]) -> (Vec<u8>, Opener) {
    let secret = EpochSecret::new(Secret::from_bytes(&[1; 32]), 0);
    let mut sealer = secret.keys(suite, Side::Initiator, SealLimits::COUNTER).media_sealer;
    let opener = secret.keys(suite, Side::Responder, SealLimits::COUNTER).media_opener;
    let mut record = Vec::new();
    let meta = RecordMeta { flags, ..meta() };
    sealer.seal(meta, &[payload], &mut record).expect("a fresh key");
    (record, opener)
}

fn open(record: &[u8], opener: &mut Opener, accept: Accept) -> Result<Vec<u8>, Refusal> {
    let mut record = record.to_vec();
    let opened = Sealed::parse(&mut record, accept).and_then(|record| opener.open(record))?;
    Ok(opened.payload().to_vec())
}

#[test]
fn a_record_in_clear_shows_its_payload_and_opens_only_where_clear_is_accepted() {
    let flags = Flags::frame(true, true, true);
    for suite in &RECOMMENDED {
        for payload in [&b""[..], b"a picture for everybody"] {
            let (record, mut opener) = sealed(suite, flags.in_clear(), payload);
            assert_eq!(&record[HEADER_LEN..HEADER_LEN + payload.len()], payload);
            assert_eq!(
                open(&record, &mut opener, Accept::EncryptedOnly),
                Err(Refusal::Cleartext)
            );
            assert_eq!(
                open(&record, &mut opener, Accept::ClearMedia).as_deref(),
                Ok(payload),
                "{}",
                suite.name
            );
            assert_eq!(open(&record, &mut opener, Accept::ClearMedia), Err(Refusal::Replay));
        }
    }
}

#[test]
fn the_encrypted_flag_cannot_be_flipped_either_way() {
    let flags = Flags::frame(false, true, true);
    for suite in &RECOMMENDED {
        for flags in [flags, flags.in_clear(), Flags::CONFIG, Flags::CONFIG.in_clear()] {
            for payload in [&b""[..], b"sixteen bytes..."] {
                let (mut record, mut opener) = sealed(suite, flags, payload);
                record[1] ^= 1;
                assert_eq!(
                    open(&record, &mut opener, Accept::ClearMedia),
                    Err(Refusal::Tag),
                    "{}",
                    suite.name
                );
                record[1] ^= 1;
                assert!(open(&record, &mut opener, Accept::ClearMedia).is_ok(), "{}", suite.name);
            }
        }
    }
}

#[test]
fn no_bit_of_a_record_in_clear_can_be_altered() {
    for suite in &RECOMMENDED {
        let (record, mut opener) = sealed(suite, Flags::frame(true, true, true).in_clear(), b"in clear");
        for bit in 0..8 * record.len() {
            let mut altered = record.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert!(
                open(&altered, &mut opener, Accept::ClearMedia).is_err(),
                "{}: bit {bit}",
                suite.name
            );
        }
        assert!(open(&record, &mut opener, Accept::ClearMedia).is_ok());
    }
}

#[test]
fn the_bytes_of_a_record_in_clear_do_not_make_another_record() {
    // The payload is part of the associated data, so its boundary must not be movable.
    let (record, mut opener) = sealed(&RECOMMENDED[0], Flags::frame(true, true, true).in_clear(), &[7; 40]);
    for length in HEADER_LEN + 16..record.len() {
        let shorter = [&record[..length - 16], &record[record.len() - 16..]].concat();
        assert_eq!(open(&shorter, &mut opener, Accept::ClearMedia), Err(Refusal::Tag));
    }
}

#[test]
fn clear_is_refused_before_other_flags_are_looked_at_unless_it_is_accepted() {
    let header = |kind: u8, flags: u8, stream: u8| {
        let mut record = vec![0; 40];
        (record[0], record[1], record[7]) = (kind, flags, stream);
        record
    };
    for flags in (0..=255).step_by(2) {
        for (kind, stream) in [(0x10, 1), (0x10, 99), (0x11, 0), (0x11, 1)] {
            let refused = Header::parse(&header(kind, flags, stream), Accept::EncryptedOnly);
            assert_eq!(refused, Err(BadForm::Cleartext), "{kind} {flags} {stream}");
        }
        let control = Header::parse(&header(0x11, flags, 0), Accept::ClearMedia);
        assert_eq!(control, Err(BadForm::Cleartext), "control records are never in clear");
        let media = Header::parse(&header(0x10, flags, 1), Accept::ClearMedia);
        let fits = flags & !0x0E == 0 || flags == 0x2C;
        assert_eq!(
            media.map(drop),
            if fits { Ok(()) } else { Err(BadForm::Malformed) },
            "{flags}"
        );
    }
    for flags in (1..=255).step_by(2) {
        let fits = flags & !0x0F == 0 || flags == 0x2D || flags == 0x41;
        for accept in [Accept::EncryptedOnly, Accept::ClearMedia] {
            let media = Header::parse(&header(0x10, flags, 1), accept);
            assert_eq!(
                media.map(drop),
                if fits { Ok(()) } else { Err(BadForm::Malformed) },
                "{flags}"
            );
            let control = Header::parse(&header(0x11, flags, 0), accept);
            assert_eq!(control.is_ok(), flags == 1, "{flags}");
        }
    }
    assert!(Header::parse(&header(0x10, 0x41, 1), Accept::EncryptedOnly).is_ok_and(|header| header.flags.repair()));
}

#[test]
#[should_panic(expected = "only media is ever in clear")]
fn a_control_record_is_never_sealed_in_clear() {
    let secret = EpochSecret::new(Secret::from_bytes(&[1; 32]), 0);
    let mut keys = secret.keys(&RECOMMENDED[0], Side::Initiator, SealLimits::COUNTER);
    let meta = RecordMeta {
        flags: Flags::CONTROL.in_clear(),
        stream: 0,
        timestamp: 0,
    };
    let _ = keys.control_sealer.seal(meta, &[b"secret"], &mut Vec::new());
}
