//! How fast every kernel here is on packets with fresh IVs, one after another and in batches.
//!
//! ```text
//! cargo bench -p sealcast-cipher --bench throughput -- [ROUNDS] [CIPHER…]
//! ```
//!
//! In every round all kernels of all lengths take their turn, so that a busy machine slows them alike, beside a chain
//! of multiplications each of which waits for the last: it tells how long a cycle of the core is. Medians of rounds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_cipher::{IMPLEMENTATIONS, Implementation, Packet, Study, implementations_of};

const LENGTHS: [usize; 4] = [128, 512, 1200, 16384];
const BATCH: usize = 32;
/// How long a turn lasts at least: the packets are in the cache for most of it, and reading the clock is lost in it.
const TURN: Duration = Duration::from_micros(400);
const DEFAULT_ROUNDS: usize = 31;
const MULTIPLICATIONS: u32 = 20_000;
/// Of a 64-bit multiplication, on every x86-64 and aarch64 core of the last ten years.
const MULTIPLICATION_CYCLES: f64 = 3.0;

struct Contender {
    implementation: &'static Implementation,
    batch: bool,
    length: usize,
    study: Study,
    ivs: Vec<Vec<u8>>,
    data: Vec<Vec<u8>>,
    /// Of every round: GB/s, and cycles per byte.
    rounds: Vec<(f64, f64)>,
}

impl Contender {
    fn new(implementation: &'static Implementation, batch: bool, length: usize) -> Self {
        let facts = implementation.facts;
        let key = vec![0x5A; facts.key_bytes.most];
        Self {
            implementation,
            batch,
            length,
            study: (implementation.load)(&key).expect("a right size"),
            ivs: (0..BATCH).map(|i| vec![i as u8; facts.iv_bytes.most]).collect(),
            data: vec![vec![0; length]; BATCH],
            rounds: Vec::new(),
        }
    }

    /// Seconds for a byte.
    fn turn(&mut self) -> f64 {
        let begin = Instant::now();
        let mut packets = 0;
        while begin.elapsed() < TURN {
            if self.batch {
                let pairs = self.ivs.iter().zip(&mut self.data);
                let mut batch: Vec<_> = pairs.map(|(iv, data)| Packet { iv, data }).collect();
                self.study.xor_batch(&mut batch).expect("right sizes");
                packets += BATCH;
            } else {
                let one = packets % BATCH;
                let mut keystream = self.study.keystream(&self.ivs[one]).expect("a right size");
                keystream.xor(&mut self.data[one]);
                packets += 1;
            }
            black_box(&mut self.data);
        }
        begin.elapsed().as_secs_f64() / (packets * self.length) as f64
    }
}

/// Seconds of one cycle of the core, as fast as it runs now.
fn cycle() -> f64 {
    let begin = Instant::now();
    let mut product = black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..MULTIPLICATIONS {
        product = product.wrapping_mul(product);
    }
    black_box(product);
    begin.elapsed().as_secs_f64() / (f64::from(MULTIPLICATIONS) * MULTIPLICATION_CYCLES)
}

/// A definition is there to be read, not to be fast, unless it is all that there is.
fn has_speed(one: &Implementation) -> bool {
    one.kernel != "definition" || implementations_of(one.facts.name).count() == 1
}

/// What this share of the values is not above.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(share * (values.len() - 1) as f64).round() as usize]
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|one| !one.starts_with("--")).collect();
    let rounds = arguments
        .iter()
        .find_map(|one| one.parse().ok())
        .unwrap_or(DEFAULT_ROUNDS);
    let wanted = |name: &str| {
        let mut ciphers = arguments.iter().filter(|one| one.parse::<usize>().is_err()).peekable();
        ciphers.peek().is_none() || ciphers.any(|one| one == name)
    };
    let mut contenders = Vec::new();
    for one in IMPLEMENTATIONS
        .iter()
        .filter(|one| has_speed(one) && wanted(one.facts.name) && (one.available)())
    {
        for batch in [false, true] {
            contenders.extend(LENGTHS.map(|length| Contender::new(one, batch, length)));
        }
    }
    for _ in 0..rounds {
        for contender in &mut contenders {
            let (cycle, per_byte) = (cycle(), contender.turn());
            contender.rounds.push((1e-9 / per_byte, per_byte / cycle));
        }
    }
    println!("{rounds} rounds, batches of {BATCH} packets, every packet under an IV of its own");
    println!("| cipher     | kernel     | packets |  bytes |   GB/s | cycles/byte | best 10 % |");
    println!("|------------|------------|---------|--------|--------|-------------|-----------|");
    for one in contenders {
        let (mut rates, mut cycles): (Vec<_>, Vec<_>) = one.rounds.into_iter().unzip();
        println!(
            "| {:10} | {:10} | {:7} | {:6} | {:6.3} | {:11.3} | {:9.3} |",
            one.implementation.facts.name,
            one.implementation.kernel,
            if one.batch { "batch" } else { "single" },
            one.length,
            quantile(&mut rates, 0.5),
            quantile(&mut cycles, 0.5),
            quantile(&mut cycles, 0.1),
        );
    }
}
