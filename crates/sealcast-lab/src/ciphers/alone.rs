//! Measures a contender in a process of its own: costs of the first use, and effects of the environment.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_cipher::Packet;
use serde::{Deserialize, Serialize};

use super::contender::{self, Contender};
use super::measure::{Bench, Timed};
use super::nature;
use super::workload;
use crate::harness::statistics::median;

/// Number of frames enciphered while memory use is watched.
const FRAMES: u8 = 25;
/// Number of repetitions of the first operation, whose time is subtracted from the first one.
const AGAIN: usize = 101;

/// aws-lc reads this when it starts.
const CAPABILITIES: &str = "OPENSSL_ia32cap";
/// Disables AES-NI and PCLMULQDQ, and VAES and VPCLMULQDQ: bits of two pairs of CPUID words.
const WITHOUT_AES: &str = "~0x200000200000000:~0x60000000000";
/// Length of the packets that are timed with and without these instructions.
pub(super) const SWITCHED_BYTES: usize = 1200;

/// The request to such a process.
#[derive(Clone, Debug)]
pub struct Question {
    /// `cipher/implementation`
    pub name: String,
    /// Length in bytes of the frame that is enciphered while memory use is watched.
    pub frame_bytes: usize,
    /// If the contender is to be timed: for this many milliseconds.
    pub time_ms: Option<u64>,
}

/// The answer of such a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Time to load a key and encipher one block for the first time.
    pub(super) first_ns: f64,
    /// Time for the same operation when caches are warm.
    pub(super) again_ns: f64,
    /// Resident memory of the process, before the first key was loaded and after the frames were enciphered.
    pub(super) rss_before_bytes: u64,
    pub(super) rss_after_bytes: u64,
    pub(super) frame_bytes: usize,
    pub(super) timed: Option<Timed>,
}

/// One contender's answer in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Alone {
    pub(super) contender: usize,
    #[serde(flatten)]
    pub(super) answer: Answer,
}

/// One contender with and without the processor's instructions for AES and GCM, in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Switched {
    pub(super) contender: usize,
    pub(super) with: Timed,
    pub(super) without: Timed,
}

/// Measures a contender in this process, which should have done nothing before.
///
/// # Errors
/// There is no such contender, it is wrong, or the kernel does not report memory use.
pub fn answer(question: &Question) -> Result<Answer> {
    let all = contender::all();
    let contender = all.iter().find(|one| one.name() == question.name);
    let contender = contender.ok_or_else(|| failed(&question.name, "there is no such implementation"))?;
    let load = contender.load();
    let load = load.ok_or_else(|| failed(&question.name, "its code is not in this program"))?;
    let block_bytes = nature::of(&contender.cipher).block_bytes;
    let key: Vec<u8> = (1..).take(contender.key_bytes).collect();
    let mut iv = vec![0; contender.iv_bytes];
    let mut block = vec![1; block_bytes + contender.tag_bytes];
    let mut frame = vec![1; question.frame_bytes + contender.tag_bytes];
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
        first_ns,
        again_ns: median(&mut again),
        rss_before_bytes,
        rss_after_bytes,
        frame_bytes: question.frame_bytes,
        timed: question.time_ms.map(|ms| time(contender, ms)).transpose()?,
    })
}

fn time(contender: &Contender, ms: u64) -> Result<Timed> {
    contender.verify().map_err(|wrong| failed(&contender.name(), &wrong))?;
    let bench = Bench::new(contender, Duration::from_millis(ms));
    let timed = bench.and_then(|mut bench| bench.run(&workload::of_length(SWITCHED_BYTES), Duration::MAX));
    let timed = timed.map_err(|wrong| failed(&contender.name(), &wrong))?;
    timed.ok_or_else(|| failed(&contender.name(), "it took too long"))
}

/// Starts a process for the request and returns its answer.
pub(super) fn ask(question: &Question) -> Result<Answer> {
    child(question, &BTreeMap::new())
}

/// Times a contender with and without the processor's instructions for it. `None` if they cannot be switched off for
/// this contender.
pub(super) fn switched(contender: &Contender, index: usize, slice: Duration) -> Result<Option<Switched>> {
    let is_switched = contender.implementation == "aws-lc-rs" && contender.cipher.starts_with("aes-");
    if !is_switched || !cfg!(target_arch = "x86_64") {
        return Ok(None);
    }
    let question = Question {
        name: contender.name(),
        frame_bytes: SWITCHED_BYTES,
        time_ms: Some(slice.as_millis() as u64),
    };
    let timed = |environment: &BTreeMap<&str, &str>| {
        let timed = child(&question, environment)?.timed;
        timed.ok_or_else(|| failed(&question.name, "its process did not time it"))
    };
    Ok(Some(Switched {
        contender: index,
        with: timed(&BTreeMap::new())?,
        without: timed(&BTreeMap::from([(CAPABILITIES, WITHOUT_AES)]))?,
    }))
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
