//! Cost of repair: symbols made, records brought back, and the decision how many symbols there are.
//!
//! Every figure is the median of many short rounds, in which our code and the bare library take turns, so that a busy
//! machine slows both alike. Run with `cargo bench -p sealcast-proto --bench repair [rounds]`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock and its arguments")]

use std::hint::black_box;
use std::time::Instant;

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};
use sealcast_proto::repair::{
    Block, Decoder, Encoder, PathLoss, RepairPolicy, TARGET_FAILURE, max_repairs, repairs, symbol_len,
};

const ROUNDS: usize = 201;
/// Operations of one side in one round.
const BATCH: usize = 8;
/// Bytes of a record.
const RECORD: usize = 1150;
const BLOCKS: [(usize, usize); 6] = [(5, 1), (5, 2), (17, 1), (17, 4), (34, 7), (125, 25)];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Microseconds of one operation.
fn timed(mut operation: impl FnMut()) -> f64 {
    let began = Instant::now();
    (0..BATCH).for_each(|_| operation());
    began.elapsed().as_nanos() as f64 / 1e3 / BATCH as f64
}

/// The records of a block, their symbols, and the repair symbols.
struct Sent {
    records: Vec<Vec<u8>>,
    symbols: Vec<Vec<u8>>,
    repairs: Vec<Vec<u8>>,
}

impl Sent {
    fn new(sources: usize, repairs: usize) -> Self {
        let byte = |record: usize, at: usize| (record * 131 + at * 7 + (at >> 3)) as u8;
        let records: Vec<Vec<u8>> = (0..sources)
            .map(|record| (0..RECORD).map(|at| byte(record, at)).collect())
            .collect();
        let symbols = records
            .iter()
            .map(|record| {
                let mut symbol = [&(RECORD as u16).to_be_bytes()[..], record].concat();
                symbol.resize(symbol_len(RECORD), 0);
                symbol
            })
            .collect();
        let mut made = Vec::new();
        Encoder::new()
            .encode(records.iter().map(Vec::as_slice), repairs, |_, symbol| {
                made.push(symbol.to_vec());
            })
            .expect("within the limits");
        Self {
            records,
            symbols,
            repairs: made,
        }
    }

    /// Block of a receiver that lost the first `lost` records.
    fn block(&self, lost: usize) -> Block {
        let mut block = Block::new(self.records.len(), self.repairs.len()).expect("within the limits");
        for (index, record) in self.records.iter().enumerate().skip(lost) {
            block.add_source(index, record).expect("honest");
        }
        for (index, symbol) in self.repairs.iter().enumerate() {
            block.add_repair(index, symbol).expect("honest");
        }
        block
    }
}

fn bench_encode(sent: &Sent, rounds: usize) -> (f64, f64) {
    let (sources, repairs) = (sent.records.len(), sent.repairs.len());
    let mut encoder = Encoder::new();
    let mut library = ReedSolomonEncoder::new(sources, repairs, symbol_len(RECORD)).expect("supported");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(timed(|| {
            let records = black_box(&sent.records).iter().map(Vec::as_slice);
            let each = |_: usize, symbol: &[u8]| {
                black_box(symbol);
            };
            encoder.encode(records, repairs, each).expect("within the limits");
        }));
        theirs.push(timed(|| {
            for symbol in black_box(&sent.symbols) {
                library.add_original_shard(symbol).expect("as many as announced");
            }
            black_box(library.encode().expect("all are there"));
        }));
    }
    (median(ours), median(theirs))
}

/// Ours takes the pieces from a filled block; the library's decoder is kept and filled anew, as it must be.
fn bench_recover(sent: &Sent, lost: usize, rounds: usize) -> (f64, f64) {
    let (sources, repairs) = (sent.records.len(), sent.repairs.len());
    let mut decoder = Decoder::new();
    let mut library = ReedSolomonDecoder::new(sources, repairs, symbol_len(RECORD)).expect("supported");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut blocks: Vec<Block> = (0..BATCH).map(|_| sent.block(lost)).collect();
        ours.push(timed(|| {
            let mut block = blocks.pop().expect("one for each operation");
            assert_eq!(block.recover(&mut decoder).expect("honest").len(), lost);
        }));
        theirs.push(timed(|| {
            for (index, symbol) in sent.symbols.iter().enumerate().skip(lost) {
                library.add_original_shard(index, symbol).expect("within the limits");
            }
            for (index, symbol) in sent.repairs.iter().enumerate().take(lost) {
                library.add_recovery_shard(index, symbol).expect("within the limits");
            }
            black_box(library.decode().expect("enough"));
        }));
    }
    (median(ours), median(theirs))
}

fn bench_collect(sent: &Sent, rounds: usize) -> f64 {
    median((0..rounds).map(|_| timed(|| drop(black_box(sent.block(0))))).collect())
}

fn bench_policy(sources: usize, rounds: usize) {
    let path = |loss, mean_burst| PathLoss {
        loss,
        mean_burst,
        rounds: 0,
    };
    let fresh = |path: PathLoss| {
        let count = || {
            black_box(repairs(black_box(sources), &path, TARGET_FAILURE));
        };
        median((0..rounds).map(|_| timed(count)).collect())
    };
    let mut policy = RepairPolicy::default();
    let mut again = || {
        black_box(policy.repairs(black_box(sources), &path(0.02, 3.0)));
    };
    let remembered = median((0..rounds).map(|_| timed(&mut again)).collect());
    println!(
        "{sources:>3} sources: {:>6.2} µs at 2 % in bursts of 3, {:>6.2} µs up to the most ({}), {remembered:.3} µs \
         remembered",
        fresh(path(0.02, 3.0)),
        fresh(path(0.5, 3.0)),
        max_repairs(sources)
    );
}

fn main() {
    let rounds = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(ROUNDS);
    let began = Instant::now();
    drop((Encoder::new(), Decoder::new()));
    println!(
        "the first encoder and decoder, with their tables: {:.1} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    println!("{rounds} rounds, records of {RECORD} bytes; µs a block (medians), beside the bare library");
    println!("| sources + repairs | encode | library | collect | recover 1 | library | recover most | library |");
    println!("|-------------------|--------|---------|---------|-----------|---------|--------------|---------|");
    for (sources, repairs) in BLOCKS {
        let sent = Sent::new(sources, repairs);
        let (encode, library) = bench_encode(&sent, rounds);
        let collect = bench_collect(&sent, rounds);
        let (one, library_one) = bench_recover(&sent, 1, rounds);
        let (most, library_most) = bench_recover(&sent, repairs, rounds);
        println!(
            "| {:<17} | {encode:>6.1} | {library:>7.1} | {collect:>7.1} | {one:>9.1} | {library_one:>7.1} | \
             {most:>12.1} | \
             {library_most:>7.1} |",
            format!("{sources} + {repairs}")
        );
    }
    for sources in [17, 125] {
        bench_policy(sources, rounds);
    }
    println!("took {:.1} s", began.elapsed().as_secs_f64());
}
