//! The order of measurements.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ends::{AT, DONE, Received, Sent};
use super::packet::Codec;
use crate::ciphers::choice::{chosen, fastest};
use crate::ciphers::implementation::Implementation;
use crate::experiments::link::load::now;
use crate::harness::process::{Program, Stop, last_words, own_program, stopped};

/// Points of a curve.
pub(super) const STEPS: usize = 10;
/// The name of runs without a cipher, which the others are compared with.
pub(super) const NONE: &str = "none";
/// The paper's ciphers, which are measured unless others are named.
const USUAL: [&str; 3] = ["xor", "rc4", "aes-128-ctr"];
/// Number of packets sealed to find the fastest implementation of a cipher.
const TRIES: u32 = 32;
/// Limit for the start of an end, and for the whole run.
const PATIENCE: Duration = Duration::from_secs(120);

/// A medium: number and size of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Medium {
    /// The paper's name for it.
    pub name: &'static str,
    /// Packets sent in a run.
    pub packets: u32,
    /// Bytes of each, without header and tag.
    pub bytes: usize,
}

/// The paper's media.
pub const MEDIA: [Medium; 3] = [
    Medium {
        name: "text",
        packets: 100_000,
        bytes: 15,
    },
    Medium {
        name: "audio",
        packets: 500,
        bytes: 600,
    },
    Medium {
        name: "video",
        packets: 500,
        bytes: 2464,
    },
];

/// Options of the experiment.
#[derive(Clone, Debug)]
pub struct DelayOptions {
    /// Ciphers, or `cipher/implementation`; if empty, those of the paper. `none` is always measured.
    pub only: Vec<String>,
    /// Number of rounds.
    pub rounds: usize,
}

/// One run: a medium under a cipher, in one round.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Counted from 0.
    pub round: usize,
    /// The name of its [`Medium`].
    pub medium: &'static str,
    /// Cipher and implementation, or `none`.
    pub cipher: String,
    /// Time in milliseconds from the start of sending until the first tenth of the packets had come, the first two
    /// tenths, and so on; `None` if no packet of that part came.
    pub delays_ms: Vec<Option<f64>>,
    /// Number of packets that did not come.
    pub lost: u32,
    /// Number of packets received that were not of this run.
    pub foreign: u64,
    /// Number of times that the sender timed out waiting for a report.
    pub stalls: u32,
    /// Largest number of packets in flight.
    pub window: u32,
}

/// The result of the experiment.
#[derive(Debug)]
pub struct DelayResult {
    /// Cipher and implementation, `none` first.
    pub ciphers: Vec<String>,
    /// All runs, in the order in which they were made.
    pub samples: Vec<Sample>,
}

/// Measures everything, or until `stop` becomes true; reports each run to `told`. In each round every cipher is
/// measured with every medium; the next round has the opposite order.
///
/// # Errors
/// A name is no cipher's, a cipher does not reproduce its published values, an end failed, or the run was stopped.
pub fn measure(options: &DelayOptions, stop: &AtomicBool, told: &dyn Fn(&str)) -> Result<DelayResult> {
    let ciphers = ciphers(&options.only)?;
    let scratch = tempfile::tempdir().map_err(|error| {
        let what = format!("there is no room for temporary files ({error})");
        Failure::new(FailureKind::Sink, what, "set TMPDIR")
    })?;
    let mut samples = Vec::new();
    for round in 0..options.rounds {
        let mut turns: Vec<(Medium, &String)> = Vec::new();
        for medium in MEDIA {
            turns.extend(ciphers.iter().map(|cipher| (medium, cipher)));
        }
        if round % 2 == 1 {
            turns.reverse();
        }
        for (medium, cipher) in turns {
            if stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            let sample = once(round, medium, cipher, scratch.path(), stop).map_err(|failure| Failure {
                what: failure.what + &last_words(scratch.path()),
                ..failure
            })?;
            let last = sample.delays_ms.last().copied().flatten().unwrap_or(f64::NAN);
            let name = medium.name;
            told(&format!(
                "{} of {}: {name}: {cipher}: {last:.2} ms",
                round + 1,
                options.rounds
            ));
            samples.push(sample);
        }
    }
    Ok(DelayResult { ciphers, samples })
}

/// For a cipher named without an implementation, the one that seals the largest packet fastest.
fn ciphers(only: &[String]) -> Result<Vec<String>> {
    let usual = USUAL.map(str::to_owned);
    let named = if only.is_empty() { &usual[..] } else { only };
    let named: Vec<String> = named.iter().filter(|name| *name != NONE).cloned().collect();
    let chosen = if named.is_empty() { Vec::new() } else { chosen(&named)? };
    let (mut kept, rest): (Vec<Implementation>, _) = chosen.into_iter().partition(|one| named.contains(&one.name()));
    kept.extend(fastest(rest, seal_time)?);
    for one in &kept {
        let wrong = |why| {
            Failure::new(
                FailureKind::Internal,
                format!("{}: {why}", one.name()),
                "please report this",
            )
        };
        one.verify().map_err(wrong)?;
    }
    let names = kept.iter().map(Implementation::name);
    Ok(std::iter::once(NONE.to_owned()).chain(names).collect())
}

/// Shortest time to seal the largest packet.
fn seal_time(contender: &Implementation) -> Result<Duration> {
    let broken = |why| {
        Failure::new(
            FailureKind::Internal,
            format!("{}: {why}", contender.name()),
            "please report this",
        )
    };
    let mut codec = Codec::new(MEDIA[2], 0, Some(contender)).map_err(broken)?;
    let mut best = Duration::MAX;
    for number in 0..TRIES {
        let began = Instant::now();
        codec.seal(number).map_err(broken)?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}

/// One run, with two new processes.
fn once(round: usize, medium: Medium, cipher: &str, scratch: &Path, stop: Stop<'_>) -> Result<Sample> {
    let token = (now() as u32).to_string();
    let start = |name: &'static str, command: &str, more: &[String]| {
        let mut program = own_program()?;
        program.args([command, "--medium", medium.name, "--cipher", cipher, "--token", &token]);
        program.args(more);
        Program::start(name, program, &scratch.join(format!("{command}.txt")))
    };
    let mut receiver = start("the receiving end", "delay-receive", &[])?;
    let at = receiver.line(AT, PATIENCE, stop)?;
    let place = at.split_once(' ');
    let place = place.and_then(|(to, window)| Some((to.parse::<SocketAddr>().ok()?, window.parse::<u32>().ok()?)));
    let (to, window) = place.ok_or_else(|| unreadable(&at))?;
    let arguments = [
        "--to".to_owned(),
        to.to_string(),
        "--window".to_owned(),
        window.to_string(),
    ];
    let sender = start("the sending end", "delay-send", &arguments)?;
    let sent: Sent = said(&sender, stop)?;
    receiver.hush();
    let received: Received = said(&receiver, stop)?;
    let delay = |at: u64| at.saturating_sub(sent.began_ns) as f64 / 1e6;
    Ok(Sample {
        round,
        medium: medium.name,
        cipher: cipher.to_owned(),
        delays_ms: received.steps_ns.iter().map(|step| step.map(delay)).collect(),
        lost: medium.packets - received.packets,
        foreign: received.foreign,
        stalls: sent.stalls,
        window,
    })
}

fn said<T: DeserializeOwned>(program: &Program, stop: Stop<'_>) -> Result<T> {
    let line = program.line(DONE, PATIENCE, stop)?;
    serde_json::from_str(&line).map_err(|_| unreadable(&line))
}

fn unreadable(line: &str) -> Failure {
    let what = format!("an end of the measurement said `{line}`");
    Failure::new(FailureKind::Internal, what, "please report this")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_cipher_one_implementation_is_measured_unless_others_are_named() {
        let names = |only: &[&str]| ciphers(&only.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        let usual = names(&[]).expect("usual");
        let ciphers: Vec<&str> = usual.iter().filter_map(|name| name.split('/').next()).collect();
        assert_eq!(ciphers, ["none", "rc4", "xor", "aes-128-ctr"]);
        assert_eq!(names(&["none"]).expect("none"), ["none"]);
        let one = names(&["trivium"]).expect("it is there");
        assert!(one.len() == 2 && one[1].starts_with("trivium/"), "{one:?}");
        let two = names(&["hc-128/definition", "hc-128/words"]).expect("they are there");
        assert_eq!(two, ["none", "hc-128/definition", "hc-128/words"]);
        assert!(names(&["rot13"]).is_err());
    }
}
