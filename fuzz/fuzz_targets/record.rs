//! Records of one epoch, sealed, altered, repeated and reordered: each opens at most once, and only if unaltered.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::Edit;
use sealcast_proto::keys::{EpochSecret, Secret, Side};
use sealcast_proto::seal::{RecordMeta, SealLimits, Sealed, suite};
use sealcast_proto::wire::{Accept, Flags, HEADER_LEN, TAG_LEN};

#[derive(Debug, Arbitrary)]
struct Plan {
    suite: u8,
    epoch: u64,
    side: bool,
    limit: u8,
    records: Vec<Record>,
    deliveries: Vec<Delivery>,
}

#[derive(Debug, Arbitrary)]
struct Record {
    keyframe: bool,
    first: bool,
    last: bool,
    stream: u8,
    timestamp: u64,
    payload: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
struct Delivery {
    record: u8,
    edit: Option<Edit>,
}

fuzz_target!(|plan: Plan| {
    let suite = suite::RECOMMENDED[usize::from(plan.suite) % suite::RECOMMENDED.len()];
    let limits = SealLimits {
        records: u64::from(plan.limit),
        ..SealLimits::COUNTER
    };
    let secret = || EpochSecret::new(Secret::from_bytes(&[5; 32]), plan.epoch);
    let side = if plan.side { Side::Initiator } else { Side::Responder };
    let mut sealer = secret().keys(&suite, side, limits).media_sealer;
    let mut opener = secret().keys(&suite, side.other(), limits).media_opener;

    let mut sealed = Vec::new();
    for record in &plan.records {
        let flags = Flags::frame(record.keyframe, record.first, record.last);
        let meta = RecordMeta {
            flags,
            stream: u32::from(record.stream % 15) + 1,
            timestamp: record.timestamp,
        };
        let mut bytes = Vec::new();
        if sealer.seal(meta, &[&record.payload], &mut bytes).is_err() {
            assert!(
                bytes.is_empty() && sealed.len() == usize::from(plan.limit),
                "only the limit stops a sealer"
            );
            break;
        }
        assert_eq!(bytes.len(), HEADER_LEN + record.payload.len() + TAG_LEN);
        sealed.push(bytes);
    }

    let mut opened_before = BTreeSet::new();
    for delivery in plan.deliveries {
        let Some(original) = sealed.get(usize::from(delivery.record)) else {
            continue;
        };
        let mut bytes = original.clone();
        if let Some(edit) = delivery.edit {
            edit.apply(&mut bytes);
        }
        let untouched = bytes == *original;
        let opened = Sealed::parse(&mut bytes, Accept::ClearMedia).and_then(|record| opener.open(record));
        let expected = untouched && opened_before.insert(delivery.record);
        assert_eq!(opened.is_ok(), expected, "{opened:?}");
        if let Ok(opened) = opened {
            assert_eq!(opened.payload(), plan.records[usize::from(delivery.record)].payload);
            assert_eq!(opened.header().seq, u32::from(delivery.record));
        }
    }
});
