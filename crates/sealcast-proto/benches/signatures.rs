//! Cost of source signatures and liveness beside sealing the frame that they are about.
//!
//! Every figure is the median of many short rounds, in which all operations take turns, so that a busy machine slows
//! them alike; a ratio is the median of the rounds' own ratios to sealing a frame of 20 kB as one record. Run with
//! `cargo bench -p sealcast-proto --bench signatures [rounds]`.
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and its arguments, and signs"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use sealcast_proto::keys::{EpochKeys, EpochSecret, Identity, Secret, Side};
use sealcast_proto::live::{Answer, Challenge, Challenges};
use sealcast_proto::seal::{RecordMeta, SealLimits, suite};
use sealcast_proto::sign::{
    Certificate, FrameDigest, FrameHasher, FrameSigner, FrameVerifier, GOP_SIGNATURE_LEN, GopSigner, GopVerifier,
    OutgoingStatement, ReceivedFrame, Statement, UnsignedPart, gop_seed,
};
use sealcast_proto::wire::Flags;

const ROUNDS: usize = 201;
/// Bytes of a frame: 5 Mbit/s at 30 frames a second.
const FRAME: usize = 20_000;
/// Bytes of a datagram's record.
const UNIT: usize = 1150;
/// Frames of a group of pictures.
const GROUP: usize = 30;
const META: RecordMeta = RecordMeta {
    flags: Flags::CONFIG,
    stream: 1,
    timestamp: 1_790_000_000_000_000_000,
};

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Microseconds of one operation, by its name, in every round.
struct Figures {
    names: Vec<&'static str>,
    rounds: Vec<Vec<f64>>,
}

impl Figures {
    /// Runs an operation `count` times, and notes how long one took.
    fn time(&mut self, name: &'static str, count: usize, mut operation: impl FnMut()) {
        let began = Instant::now();
        (0..count).for_each(|_| operation());
        let micros = began.elapsed().as_nanos() as f64 / 1e3 / count as f64;
        match self.names.iter().position(|known| *known == name) {
            Some(at) => self.rounds[at].push(micros),
            None => {
                self.names.push(name);
                self.rounds.push(vec![micros]);
            }
        }
    }

    fn report(&self) {
        println!("| operation                                            |     µs |    p99 | of sealing |");
        println!("|------------------------------------------------------|--------|--------|------------|");
        let sealing = &self.rounds[0];
        for (name, rounds) in self.names.iter().zip(&self.rounds) {
            let mut ratios: Vec<f64> = rounds.iter().zip(sealing).map(|(ours, seal)| ours / seal).collect();
            let mut sorted = rounds.clone();
            let middle = median(&mut sorted);
            let late = sorted[sorted.len() * 99 / 100];
            println!(
                "| {name:<52} | {middle:>6.1} | {late:>6.1} | {:>10.2} |",
                median(&mut ratios)
            );
        }
    }
}

fn group_keys() -> EpochKeys {
    EpochSecret::new(Secret::from_bytes(&[9; 32]), 0).keys(&suite::AES_128_GCM, Side::Responder, SealLimits::COUNTER)
}

fn seal(keys: &mut EpochKeys, data: &[u8], unit: usize, out: &mut Vec<u8>) {
    out.clear();
    for payload in data.chunks(unit) {
        keys.media_sealer
            .seal(META, &[payload], out)
            .expect("fewer than the limit");
    }
}

fn digest(records: &[u8], length: usize) -> FrameDigest {
    let mut hasher = FrameHasher::new();
    records.chunks(length).for_each(|record| hasher.push(record));
    hasher.finish().expect("a frame has records")
}

fn sealing_and_digest(figures: &mut Figures) {
    let (mut keys, data) = (group_keys(), vec![5; FRAME]);
    let mut out = Vec::with_capacity(2 * FRAME);
    figures.time("seal 20 kB, one record, AES-128-GCM", 32, || {
        seal(&mut keys, black_box(&data), FRAME, &mut out);
    });
    figures.time("digest of it", 32, || {
        black_box(digest(black_box(&out), FRAME + 40));
    });
    figures.time("seal 20 kB in records of 1150 bytes", 32, || {
        seal(&mut keys, black_box(&data), UNIT, &mut out);
    });
    figures.time("digest of them", 32, || {
        black_box(digest(black_box(&out), UNIT + 40));
    });
}

/// The statement about a frame of a group of pictures, and its proof.
fn state(identity: &Identity, signer: &mut FrameSigner, epoch: u64, frame: u64) -> (Statement, Vec<u8>) {
    let outgoing = OutgoingStatement {
        epoch,
        frame,
        keyframe: frame == 0,
        digest: FrameDigest::of_hashes(&[[3; 32]]).expect("one record"),
        liveness: Some([7; 32]),
    };
    let (statement, proof) = signer.sign(identity, &outgoing).expect("in order");
    (statement, proof.to_bytes())
}

fn frames(figures: &mut Figures, identity: &Identity, epoch: u64) -> Vec<Statement> {
    let mut signer = FrameSigner::new(1, epoch);
    let mut signed = Vec::new();
    let mut next = 0;
    figures.time("frame: statement, Ed25519 signature, proof", GROUP, || {
        signed.push(state(identity, &mut signer, epoch, next));
        next += 1;
    });
    let mut verifier = FrameVerifier::new(identity.peer_id(), 1);
    let mut next = signed.iter();
    figures.time("frame: verify", GROUP, || {
        let (statement, proof) = next.next().expect("one for each");
        let frame = ReceivedFrame {
            digest: statement.digest,
            stream: 1,
            epoch,
        };
        verifier.verify(&frame, Some(proof)).expect("the camera's");
    });
    signed.into_iter().map(|(statement, _)| statement).collect()
}

fn gops(figures: &mut Figures, identity: &Identity, pair: &PqdsaKeyPair, statements: &[Statement]) {
    let mut signer = GopSigner::new(identity.peer_id());
    let mut next = statements.iter();
    figures.time("group: leaf of a frame", GROUP, || {
        black_box(signer.push(next.next().expect("one for each")));
    });
    let mut part: Option<UnsignedPart> = None;
    figures.time("group: tree of 30 frames", 1, || part = signer.close());
    let part = part.expect("30 frames wait");
    let mut signature = [0; GOP_SIGNATURE_LEN];
    figures.time("group: ML-DSA-65 signature, off the frame path", 1, || {
        pair.sign(part.content(), &mut signature).expect("a key pair");
    });
    let message = part.signed(&signature).to_bytes();
    let key = pair.public_key().as_ref().try_into().expect("1952 bytes");
    let key = Certificate::issue(identity, key).verify(&identity.peer_id(), None);
    let mut verifier = GopVerifier::new(1).with_key(key.expect("its own"));
    let mut next = statements.iter();
    figures.time("group: remember a frame", GROUP, || {
        black_box(verifier.took(Duration::ZERO, next.next().expect("one for each")));
    });
    figures.time("group: verify message, tree, 30 frames", 1, || {
        black_box(verifier.verify(&message).expect("the camera's"));
    });
}

fn liveness(figures: &mut Figures) {
    let challenge = |slot: u16| Challenge([(slot >> 8) as u8 ^ slot as u8; 16]);
    for (name, viewers) in [
        ("liveness: fold 333 challenges", 333),
        ("liveness: fold 10 000 challenges", 10_000),
    ] {
        let mut challenges = Challenges::new(viewers);
        (0..viewers).for_each(|slot| challenges.put(slot, challenge(slot)).expect("a slot"));
        let mut batch = None;
        figures.time(name, 1, || batch = challenges.fold(usize::MAX));
        let batch = batch.expect("they wait");
        if viewers < 10_000 {
            continue;
        }
        let mut answers = batch.answers();
        figures.time("liveness: an answer among 10 000", 64, || {
            black_box(answers.next().map(|(_, answer)| answer.to_bytes()));
        });
        let answer = batch.answers().last().map(|(_, answer)| answer.to_bytes());
        let answer = answer.expect("one for each");
        figures.time("liveness: parse an answer", 64, || {
            black_box(Answer::parse(black_box(&answer)).expect("well formed"));
        });
    }
}

fn main() {
    let rounds = std::env::args().filter_map(|argument| argument.parse().ok()).next();
    let rounds = rounds.unwrap_or(ROUNDS);
    let began = Instant::now();
    let identity = Identity::from_seed(&[1; 32]);
    let pair = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, &gop_seed(&identity)[..]).expect("32 bytes");
    let mut figures = Figures {
        names: Vec::new(),
        rounds: Vec::new(),
    };
    for epoch in 0..rounds as u64 {
        sealing_and_digest(&mut figures);
        let statements = frames(&mut figures, &identity, epoch);
        gops(&mut figures, &identity, &pair, &statements);
        liveness(&mut figures);
    }
    println!("{rounds} rounds; µs an operation (medians), and their ratio to the first line (median)");
    figures.report();
    println!("took {:.1} s", began.elapsed().as_secs_f64());
}
