//! Speed of every kernel here on packets with fresh IVs, one after another and in batches.
//!
//! ```text
//! cargo bench -p sealcast-cipher --bench throughput -- [ROUNDS] [CIPHER…]
//! ```
//!
//! In every round all kernels of all lengths take their turn, so that a busy machine slows them alike, beside a chain
//! of multiplications each of which waits for the last: it tells how long a cycle of the core is. Medians of rounds.
//! In the end, what the fastest kernel of each cipher does on packets of 1200 bytes, beside its target if it has one.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_cipher::{IMPLEMENTATIONS, Implementation, Packet, Study, implementations_of};

const LENGTHS: [usize; 4] = [128, 512, TARGET_LENGTH, 16384];
const BATCH: usize = 32;
/// As many packets as MICKEY has lanes: it takes as long for fewer.
const MICKEY_BATCH: usize = 512;
/// Length of a turn at least: the packets are in the cache for most of it, and reading the clock is lost in it.
const TURN: Duration = Duration::from_micros(400);
const DEFAULT_ROUNDS: usize = 31;
const MULTIPLICATIONS: u32 = 20_000;
/// Of a 64-bit multiplication, on every x86-64 and aarch64 core of the last ten years.
const MULTIPLICATION_CYCLES: f64 = 3.0;

/// The length at which kernels are held to their targets.
const TARGET_LENGTH: usize = 1200;
/// GB/s on packets of that length, each under an IV of its own, alone and in batches, on one core of a Zen 4 with
/// AVX-512. HC-128's is what the best public C does there, SUPERCOP's hc-128/200701a; RC4's is OpenSSL's, which copies
/// a key that was set up before.
const TARGETS: [(&str, bool, f64); 8] = [
    ("grain-128a", true, 4.5),
    ("grain-v1", true, 4.3),
    ("hc-128", false, 0.347),
    ("mickey-v1", true, 0.9),
    ("mickey-v2", true, 0.7),
    ("rc4", false, 1.08),
    ("sosemanuk", false, 1.5),
    ("trivium", false, 1.3),
];

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
        let packets = if facts.name.starts_with("mickey") {
            MICKEY_BATCH
        } else {
            BATCH
        };
        Self {
            implementation,
            batch,
            length,
            study: (implementation.load)(&key).expect("a right size"),
            ivs: (0..packets).map(|i| vec![i as u8; facts.iv_bytes.most]).collect(),
            data: vec![vec![0; length]; packets],
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
            } else {
                for (iv, data) in self.ivs.iter().zip(&mut self.data) {
                    // By reference: a move copies room for the largest state of all ciphers.
                    match &mut self.study.keystream(iv) {
                        Ok(keystream) => keystream.xor(data),
                        Err(refused) => panic!("{refused}"),
                    }
                }
            }
            packets += self.data.len();
            black_box(&mut self.data);
        }
        begin.elapsed().as_secs_f64() / (packets * self.length) as f64
    }

    /// GB/s, which this share of the rounds does not exceed.
    fn rate(&self, share: f64) -> f64 {
        quantile(self.rounds.iter().map(|round| round.0).collect(), share)
    }

    /// Cycles per byte, which this share of the rounds does not exceed.
    fn cycles(&self, share: f64) -> f64 {
        quantile(self.rounds.iter().map(|round| round.1).collect(), share)
    }

    fn packets(&self) -> &'static str {
        if self.batch { "batch" } else { "single" }
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

/// Value that this share of the values is not above.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
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
    println!(
        "{rounds} rounds, batches of {BATCH} packets (MICKEY: {MICKEY_BATCH}), every packet under an IV of its own"
    );
    print_all(&contenders);
    print_targets(&contenders);
}

fn print_all(contenders: &[Contender]) {
    println!("| cipher     | kernel     | packets |  bytes |   GB/s | cycles/byte | best 10 % |");
    println!("|------------|------------|---------|--------|--------|-------------|-----------|");
    for one in contenders {
        println!(
            "| {:10} | {:10} | {:7} | {:6} | {:6.3} | {:11.3} | {:9.3} |",
            one.implementation.facts.name,
            one.implementation.kernel,
            one.packets(),
            one.length,
            one.rate(0.5),
            one.cycles(0.5),
            one.cycles(0.1),
        );
    }
}

/// The fastest kernel of each cipher.
fn print_targets(contenders: &[Contender]) {
    println!("\nPackets of {TARGET_LENGTH} bytes:\n");
    println!("| cipher     | packets | kernel     |   GB/s |  10 to 90 %   | target | ratio |");
    println!("|------------|---------|------------|--------|---------------|--------|-------|");
    let mut fastest: Vec<&Contender> = Vec::new();
    for one in contenders.iter().filter(|one| one.length == TARGET_LENGTH) {
        let same = |other: &&mut &Contender| {
            other.implementation.facts.name == one.implementation.facts.name && other.batch == one.batch
        };
        match fastest.iter_mut().find(same) {
            Some(other) if other.rate(0.5) < one.rate(0.5) => *other = one,
            Some(_) => {}
            None => fastest.push(one),
        }
    }
    for one in fastest {
        let cipher = one.implementation.facts.name;
        let target = TARGETS
            .iter()
            .find(|target| (target.0, target.1) == (cipher, one.batch));
        let (target, ratio) = target.map_or(("-".to_owned(), "-".to_owned()), |(_, _, target)| {
            (format!("{target:.3}"), format!("{:.2}", one.rate(0.5) / target))
        });
        println!(
            "| {cipher:10} | {:7} | {:10} | {:6.3} | {:5.3} to {:5.3} | {target:>6} | {ratio:>5} |",
            one.packets(),
            one.implementation.kernel,
            one.rate(0.5),
            one.rate(0.1),
            one.rate(0.9),
        );
    }
}
