//! The reader of archives: whatever a file has, it ends, keeps to its bounds, and takes nothing whose links do not fit.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::archive::{BLOCK_OVERHEAD, Block, Gather, Player, Segment, SegmentKey};
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::sign::MAX_GOP_SIGNATURE;
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 20] = b"sealcast archive 01\n";

#[derive(Debug, Arbitrary)]
struct Input {
    bytes: Vec<u8>,
    head: ([u8; 16], u64, u64, [u8; 32], u64, Vec<u8>),
    blocks: Vec<(u8, Vec<u8>)>,
    tail: Vec<u8>,
}

/// Appends a block whose link fits, as anybody can make it.
fn put(file: &mut Vec<u8>, link: &mut [u8; 32], kind: u8, body: &[u8]) {
    let prefix = [&[kind][..], &(body.len() as u32).to_be_bytes()].concat();
    let linked = Sha256::new()
        .chain_update(&*link)
        .chain_update(&prefix)
        .chain_update(body);
    *link = linked.finalize().into();
    file.extend_from_slice(&prefix);
    file.extend_from_slice(body);
    file.extend_from_slice(&*link);
    file.extend_from_slice(&[0; 16]);
}

/// Reads all that can be read. Returns the number of blocks.
fn read(file: &[u8]) -> usize {
    let Ok(mut segment) = Segment::new(file) else { return 0 };
    let mut player = Player::new();
    let mut blocks = 0;
    while let Some(block) = segment.next_block() {
        match block {
            Ok(Block::Frame(frame)) => {
                let records: usize = frame.records().map(|record| 4 + record.len()).sum();
                assert!(records > 0 && records <= file.len());
                assert!(player.frame(&frame).is_err(), "nothing opens without a key");
            }
            Ok(Block::Description(description)) => assert!(player.description(&description).is_err()),
            Ok(Block::Key(key)) => assert!(key.is_none(), "no key was opened"),
            Ok(Block::WrappedKey { file: key, .. }) => assert!(key.len() <= file.len()),
            Ok(Block::GopKey(bytes) | Block::GopSignature(bytes)) => assert!(bytes.len() <= MAX_GOP_SIGNATURE),
            Ok(Block::End(_)) => assert!(segment.ended()),
            Err(_) => {
                assert!(segment.next_block().is_none(), "nothing follows what is wrong");
                break;
            }
        }
        blocks += 1;
        assert!(segment.read_to() <= file.len() && blocks * BLOCK_OVERHEAD <= file.len());
    }
    blocks
}

/// Gathers records that nobody verified. What comes out is what went in.
fn gather(records: &[(u8, Vec<u8>)], proofs: bool) {
    let mut gather = Gather::new(proofs);
    let (mut taken, mut given) = (0, 0);
    for (_, record) in records {
        taken += record.len();
        if let Ok(Some(frame)) = gather.take(record.clone()) {
            assert!(!frame.describes_only() && frame.epochs().count() == frame.records.len());
            given += frame.bytes();
        }
        assert!(given <= taken);
    }
}

fuzz_target!(|input: Input| {
    read(&input.bytes);
    gather(&input.blocks, true);
    gather(&input.blocks, false);
    let (archive, number, oldest, previous, began, key_file) = input.head;
    let key_file = &key_file[..key_file.len().min(1000)];
    let head = [
        &[1][..],
        &archive,
        &number.to_be_bytes(),
        &oldest.to_be_bytes(),
        &previous,
        &began.to_be_bytes(),
        &(key_file.len() as u16).to_be_bytes(),
        key_file,
    ];
    let mut file = MAGIC.to_vec();
    let mut link: [u8; 32] = Sha256::new()
        .chain_update(b"sealcast2 archive link\0")
        .chain_update(MAGIC)
        .finalize()
        .into();
    put(&mut file, &mut link, 1, &head.concat());
    for (kind, body) in &input.blocks {
        put(&mut file, &mut link, 2 + kind % 5, body);
    }
    let whole = file.len();
    file.extend_from_slice(&input.tail);
    if let Ok(mut segment) = Segment::new(&file) {
        assert!(number >= 1 && (1..=number).contains(&oldest));
        assert!(
            segment.unlock(&SegmentKey([0; 32]), &RECOMMENDED).is_err(),
            "the MAC is no MAC"
        );
        assert!(read(&file) <= input.blocks.len());
        while let Some(Ok(_)) = segment.next_block() {}
        assert!(segment.read_to() <= whole, "the tail has no link");
    }
});
