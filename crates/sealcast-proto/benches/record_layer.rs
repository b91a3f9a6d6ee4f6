//! Cost of the record layer beside the raw primitive, and throughput of the whole publish path.
//!
//! Every figure is the median of many short rounds, in which the two sides of a comparison take turns, so that a busy
//! machine slows both alike; the ratio is the median of the rounds' own ratios. Run with `cargo bench -p
//! sealcast-proto --bench record_layer [rounds]`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock and its arguments")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use aegis::aegis128x4::Aegis128X4;
use aws_lc_rs::aead::{self, Aad, LessSafeKey, UnboundKey};
use sealcast_proto::keys::{EpochKeys, EpochSecret, Secret, Side};
use sealcast_proto::seal::suite::{AES_128_GCM, AES_256_GCM, RECOMMENDED};
use sealcast_proto::seal::{RecordMeta, SealLimits, Sealed, Suite};
use sealcast_proto::session::OutgoingFrame;
use sealcast_proto::unit::Preamble;
use sealcast_proto::wire::{Accept, Flags, HEADER_LEN, TAG_LEN};
use sealcast_testkit::ends::Setup;

const ROUNDS: usize = 201;
/// Bytes handled by one side in one round.
const BYTES_PER_ROUND: usize = 1 << 20;
/// Records opened in one round fit the cache together.
const BATCH_BYTES: usize = 128 << 10;
const SIZES: [usize; 4] = [64, 256, 1200, 16_384];
const META: RecordMeta = RecordMeta {
    flags: Flags::CONFIG,
    stream: 1,
    timestamp: 1_790_000_000_000_000_000,
};

/// The primitive itself, with the nonce made from a counter.
enum Raw {
    AwsLc(LessSafeKey),
    Aegis([u8; 16]),
}

impl Raw {
    fn new(suite: &Suite) -> Self {
        let algorithm = match suite.id {
            1 => &aead::AES_128_GCM,
            2 => &aead::AES_256_GCM,
            3 => &aead::CHACHA20_POLY1305,
            _ => return Self::Aegis([7; 16]),
        };
        let key = UnboundKey::new(algorithm, &vec![7; suite.key_len]).expect("a key of this length");
        Self::AwsLc(LessSafeKey::new(key))
    }

    fn seal(&self, counter: u32, header: &[u8; HEADER_LEN], payload: &mut [u8]) -> [u8; TAG_LEN] {
        match self {
            Self::AwsLc(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(nonce(counter));
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(header), payload);
                tag.expect("short").as_ref().try_into().expect("16 bytes")
            }
            Self::Aegis(key) => Aegis128X4::new(key, &nonce(counter)).encrypt_in_place(payload, header),
        }
    }

    fn open(&self, counter: u32, header: &[u8], sealed: &mut [u8]) {
        match self {
            Self::AwsLc(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(nonce(counter));
                key.open_in_place(nonce, Aad::from(header), sealed)
                    .expect("the tag fits");
            }
            Self::Aegis(key) => {
                let (payload, tag) = sealed.split_last_chunk_mut::<TAG_LEN>().expect("a tag");
                let cipher = Aegis128X4::<TAG_LEN>::new(key, &nonce(counter));
                cipher.decrypt_in_place(payload, tag, header).expect("the tag fits");
            }
        }
    }
}

fn nonce<const N: usize>(counter: u32) -> [u8; N] {
    let mut nonce = [3; N];
    nonce[8..12].copy_from_slice(&counter.to_be_bytes());
    nonce
}

fn keys(suite: &Suite, side: Side) -> EpochKeys {
    EpochSecret::new(Secret::from_bytes(&[9; 32]), 0).keys(suite, side, SealLimits::COUNTER)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Half the distance between the quartiles, in percent of the median.
fn spread(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[sorted.len() / 4], sorted[sorted.len() * 3 / 4]);
    (high - low) / 2.0 / sorted[sorted.len() / 2] * 100.0
}

/// Nanoseconds each side took for `count` operations, round by round.
struct Rounds {
    raw: Vec<f64>,
    ours: Vec<f64>,
}

impl Rounds {
    fn new() -> Self {
        Self {
            raw: Vec::new(),
            ours: Vec::new(),
        }
    }

    fn report(mut self, suite: &Suite, what: &str, size: usize) {
        let mut ratios: Vec<f64> = self
            .raw
            .iter()
            .zip(&self.ours)
            .map(|(raw, ours)| raw / ours * 100.0)
            .collect();
        let ratio = median(&mut ratios);
        let (raw, ours) = (median(&mut self.raw), median(&mut self.ours));
        let off = spread(&ratios);
        let rate = size as f64 / ours;
        let name = suite.name;
        println!(
            "| {name:<18} | {what:<4} | {size:>6} | {raw:>8.1} | {ours:>8.1} | {rate:>6.2} | \
             {ratio:>6.1} % | {off:>5.1} % |"
        );
    }
}

fn timed(count: usize, mut operation: impl FnMut(usize)) -> f64 {
    let began = Instant::now();
    for index in 0..count {
        operation(index);
    }
    began.elapsed().as_nanos() as f64 / count as f64
}

fn bench_seal(suite: &Suite, size: usize, rounds: usize) {
    let count = (BYTES_PER_ROUND / size).clamp(64, 4096);
    let raw = Raw::new(suite);
    let mut sealer = keys(suite, Side::Initiator).media_sealer;
    let mut record = vec![0; HEADER_LEN + size + TAG_LEN];
    let (header, mut payload) = ([1; HEADER_LEN], vec![0; size]);
    let mut counter = 0_u32;
    let mut measured = Rounds::new();
    for _ in 0..rounds {
        measured.raw.push(timed(count, |_| {
            counter += 1;
            black_box(raw.seal(counter, &header, black_box(&mut payload)));
        }));
        measured.ours.push(timed(count, |_| {
            sealer.seal_in_place(META, black_box(&mut record)).expect("a fresh key");
        }));
    }
    measured.report(suite, "seal", size);
}

fn bench_open(suite: &Suite, size: usize, rounds: usize) {
    let length = HEADER_LEN + size + TAG_LEN;
    let count = (BATCH_BYTES / length).clamp(8, 1024);
    let raw = Raw::new(suite);
    let mut sealer = keys(suite, Side::Initiator).media_sealer;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for counter in 0..count as u32 {
        sealer.seal(META, &[&vec![0; size]], &mut ours).expect("a fresh key");
        let mut payload = vec![0; size];
        let header = [1; HEADER_LEN];
        let tag = raw.seal(counter, &header, &mut payload);
        theirs.extend_from_slice(&[&header[..], &payload, &tag].concat());
    }
    let mut measured = Rounds::new();
    for _ in 0..rounds {
        let mut batch = theirs.clone();
        let mut records: Vec<&mut [u8]> = batch.chunks_exact_mut(length).collect();
        measured.raw.push(timed(count, |index| {
            let (header, sealed) = records[index].split_at_mut(HEADER_LEN);
            raw.open(index as u32, header, black_box(sealed));
        }));
        let mut batch = ours.clone();
        let mut records: Vec<&mut [u8]> = batch.chunks_exact_mut(length).collect();
        let mut opener = keys(suite, Side::Responder).media_opener;
        measured.ours.push(timed(count, |index| {
            let record = Sealed::parse(black_box(&mut *records[index]), Accept::EncryptedOnly).expect("a record");
            black_box(opener.open(record).expect("the tag fits").payload());
        }));
    }
    measured.report(suite, "open", size);
}

fn bench_publish(suite: Suite, size: usize, rounds: usize) {
    let mut setup = Setup::default();
    setup.viewer.handshake.suites = vec![suite];
    setup.publisher.handshake.suites = vec![suite];
    let mut world = setup.established();
    let now = world.now;
    let data = vec![5; size];
    let raw = Raw::new(&suite);
    let (header, mut payload) = ([1; HEADER_LEN], vec![0; size]);
    let mut out = Vec::new();
    let count = (BYTES_PER_ROUND / size).clamp(16, 1024);
    let mut measured = Rounds::new();
    let mut counter = 0_u32;
    for _ in 0..rounds {
        measured.raw.push(timed(count, |_| {
            counter += 1;
            black_box(raw.seal(counter, &header, black_box(&mut payload)));
        }));
        measured.ours.push(timed(count, |index| {
            let frame = OutgoingFrame {
                stream: 1,
                codec: sealcast_proto::unit::Codec::H264,
                keyframe: index == 0,
                preamble: Preamble {
                    frame: index as u64,
                    ..Preamble::default()
                },
                data: black_box(&data),
            };
            out.clear();
            let sealed = world.responder.session.seal_frame(now, &frame, &mut out);
            sealed.expect("fewer records than the limit");
            black_box(&out);
        }));
    }
    measured.report(&suite, "path", size);
}

fn main() {
    let rounds = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(ROUNDS);
    let began = Instant::now();
    println!(
        "{rounds} rounds; ns per operation (medians), throughput of ours, ratio (median, half interquartile range)"
    );
    println!("| suite              | what |  bytes |   raw ns |  ours ns |   GB/s | of raw   | spread  |");
    println!("|--------------------|------|--------|----------|----------|--------|----------|---------|");
    for suite in &RECOMMENDED {
        for size in SIZES {
            bench_seal(suite, size, rounds);
            bench_open(suite, size, rounds);
        }
    }
    for suite in [AES_128_GCM, AES_256_GCM, sealcast_proto::seal::suite::AEGIS_128X4] {
        for size in [1 << 10, 20_000, 100_000] {
            bench_publish(suite, size, rounds);
        }
    }
    let took: Duration = began.elapsed();
    println!("took {:.1} s", took.as_secs_f64());
}
