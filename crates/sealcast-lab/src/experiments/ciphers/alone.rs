//! Measures an implementation in a process of its own: costs of the first use, and effects of the environment.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_cipher::Packet;
use serde::{Deserialize, Serialize};

use super::measure::{Bench, Timed};
use super::workload;
use crate::ciphers::capabilities::WITHOUT_AES;
use crate::ciphers::catalogue;
use crate::ciphers::implementation::Implementation;
use crate::ciphers::nature;
use crate::ciphers::worker::{AGAIN, FRAMES, FirstUse};
use sealcast::meter::statistics::median;

/// Length of the packets that are timed with and without these instructions.
const SWITCHED_BYTES: usize = 1200;

/// The request to such a process.
#[derive(Clone, Debug)]
pub struct Question {
    /// `cipher/implementation`
    pub name: String,
    /// Length in bytes of the frame that is enciphered while memory use is watched.
    pub frame_bytes: usize,
    /// If the implementation is to be timed: for this many milliseconds.
    pub time_ms: Option<u64>,
}

/// The answer of such a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    #[serde(flatten)]
    pub(super) first: FirstUse,
    pub(super) timed: Option<Timed>,
}

/// One implementation with and without the processor's instructions for AES and GCM.
#[derive(Clone, Debug)]
pub(super) struct Switched {
    pub(super) with: Timed,
    pub(super) without: Timed,
}

/// Measures an implementation in this process, which should have done nothing before.
///
/// # Errors
/// There is no such implementation, it is wrong, or the kernel does not report memory use.
pub fn answer(question: &Question) -> Result<Answer> {
    let all = catalogue::all();
    let implementation = all.iter().find(|one| one.name() == question.name);
    let implementation = implementation.ok_or_else(|| failed(&question.name, "there is no such implementation"))?;
    let load = implementation.load();
    let load = load.ok_or_else(|| failed(&question.name, "its code is not in this program"))?;
    let block_bytes = nature::of(&implementation.cipher).block_bytes;
    let key: Vec<u8> = (1..).take(implementation.key_bytes).collect();
    let mut iv = vec![0; implementation.iv_bytes];
    let mut block = vec![1; block_bytes + implementation.tag_bytes];
    let mut frame = vec![1; question.frame_bytes + implementation.tag_bytes];
    let mut once = |iv: &[u8]| {
        let began = Instant::now();
        let keyed = load(&key);
        keyed.seal(&mut [Packet { iv, data: &mut block }]);
        (began.elapsed().as_nanos() as f64, keyed)
    };
    // The first read allocates memory itself.
    rss_bytes(&question.name)?;
    let rss_before_bytes = rss_bytes(&question.name)?;
    let (first_ns, keyed) = once(&iv);
    for number in 0..FRAMES {
        iv.iter_mut().take(1).for_each(|byte| *byte = number);
        keyed.seal(&mut [Packet {
            iv: &iv,
            data: &mut frame,
        }]);
    }
    let rss_after_bytes = rss_bytes(&question.name)?;
    let mut again: Vec<f64> = (0..AGAIN).map(|_| once(&iv).0).collect();
    Ok(Answer {
        first: FirstUse {
            first_ns,
            again_ns: median(&mut again),
            rss_before_bytes,
            rss_after_bytes,
        },
        timed: question.time_ms.map(|ms| time(implementation, ms)).transpose()?,
    })
}

fn time(implementation: &Implementation, ms: u64) -> Result<Timed> {
    implementation
        .verify()
        .map_err(|wrong| failed(&implementation.name(), &wrong))?;
    let bench = Bench::new(implementation, Duration::from_millis(ms));
    let timed = bench.and_then(|mut bench| bench.run(&workload::of_length(SWITCHED_BYTES), Duration::MAX));
    let timed = timed.map_err(|wrong| failed(&implementation.name(), &wrong))?;
    timed.ok_or_else(|| failed(&implementation.name(), "it took too long"))
}

/// Starts a process for the request and returns its answer.
pub(super) fn ask(question: &Question) -> Result<Answer> {
    child(question, &BTreeMap::new())
}

/// True if the processor's instructions can be switched off for this implementation.
pub(super) fn is_switched(cipher: &str, implementation: &str) -> bool {
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    implementation == "aws-lc-rs" && cipher.starts_with("aes-") && known
}

/// Times an implementation for `slice` each with the processor's instructions and without.
///
/// # Errors
/// A process failed.
pub(super) fn switched(one: &Implementation, slice: Duration) -> Result<Switched> {
    let question = Question {
        name: one.name(),
        frame_bytes: SWITCHED_BYTES,
        time_ms: Some((slice.as_millis() as u64).max(1)),
    };
    let timed = |environment: &BTreeMap<&str, &str>| {
        let timed = child(&question, environment)?.timed;
        timed.ok_or_else(|| failed(&question.name, "its process did not time it"))
    };
    Ok(Switched {
        with: timed(&BTreeMap::new())?,
        without: timed(&BTreeMap::from([WITHOUT_AES]))?,
    })
}

fn child(question: &Question, environment: &BTreeMap<&str, &str>) -> Result<Answer> {
    let gone = |error: &dyn std::fmt::Display| failed(&question.name, &format!("its process: {error}"));
    let program = std::env::current_exe().map_err(|error| gone(&error))?;
    let mut command = Command::new(program);
    command
        .arg("cipher-alone")
        .arg(&question.name)
        .args(["--frame-bytes", &question.frame_bytes.to_string()]);
    if let Some(ms) = question.time_ms {
        command.args(["--time-ms", &ms.to_string()]);
    }
    let output = command.envs(environment).output().map_err(|error| gone(&error))?;
    if !output.status.success() {
        return Err(gone(&String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| gone(&error))
}

/// Resident memory of this process in bytes.
fn rss_bytes(name: &str) -> Result<u64> {
    const FILE: &str = "/proc/self/smaps_rollup";
    let text = std::fs::read_to_string(FILE).map_err(|error| failed(name, &format!("{FILE}: {error}")))?;
    let kb = text.lines().find_map(|line| {
        let number = line.strip_prefix("Rss:")?.trim().strip_suffix("kB")?;
        number.trim().parse::<u64>().ok()
    });
    let kb = kb.ok_or_else(|| failed(name, &format!("{FILE} has no Rss")))?;
    Ok(kb << 10)
}

fn failed(name: &str, why: &str) -> Failure {
    let what = format!("{name} cannot be looked at by itself: {why}");
    Failure::new(FailureKind::Internal, what, "leave it out with --only, or report this")
}
