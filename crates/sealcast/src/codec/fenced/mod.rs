//! Decoding another party's pictures in a process of its own, which can do nothing else ([`fence`]).
//!
//! Decoders are large, and one is C++: whoever finds a mistake in one owns the process that it runs in. So the program
//! starts itself a second time as `sealcast decoder`, with an empty environment, hands frames over and takes pictures
//! back. When that process dies, the picture stays away until the next keyframe, which a new process decodes.

mod answer;
// The library that compiles the list for the kernel knows these three.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
    path = "no_calls.rs"
)]
mod calls;
mod channel;
mod child;
mod cpu;
pub mod fence;
#[cfg(test)]
mod tests;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use self::channel::{Channel, Fault, Reply};
use self::fence::Raised;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Picture};

pub use child::serve;
pub use cpu::decoders_cpu_time;

/// This program itself, also after an update has replaced its file.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Time for decoding one frame. Whatever takes longer hangs: large keyframes take a tenth of a second on small boards.
const DECODE_PATIENCE: Duration = Duration::from_secs(5);

/// Time for the start of the process, which reads the program's file.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// Looks, a millisecond apart, from the end of its socket to the end of the process. Looks and not time, so that a
/// machine that stands still for a while does not change what is said of the process.
const END_LOOKS: u32 = 1000;

/// Shortest time from start to start, so that no publisher can make us start processes all the time.
pub const RESTART_INTERVAL: Duration = Duration::from_secs(1);

/// Decodes the frames of one stream in a process of its own.
///
/// That process ends with the thread that called [`new`](Self::new) or [`decode`](Self::decode): use one thread.
pub struct Decoder {
    program: PathBuf,
    codec: Codec,
    process: Option<Process>,
    /// When the process was started last.
    started: Instant,
    frames: u64,
}

impl Decoder {
    /// Creates a decoder for streams of `codec`.
    ///
    /// # Errors
    /// Its process cannot start.
    pub fn new(codec: Codec) -> Result<Self> {
        Self::by_program(Path::new(THIS_PROGRAM), codec)
    }

    /// Creates a decoder whose process runs this program file of sealcast: for tests, which are other programs.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn by_program(program: &Path, codec: Codec) -> Result<Self> {
        Ok(Self {
            program: program.to_owned(),
            codec,
            process: Some(Process::start(program, codec)?),
            started: Instant::now(),
            frames: 0,
        })
    }

    /// The codec of its streams.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The id of its process, if there is one.
    pub fn process(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.id())
    }

    /// Says what the fence around its process lacks, and whether the kernel or this program is to blame; `None` if the
    /// fence is whole, and while there is no process.
    pub fn lacks(&self) -> Option<&'static str> {
        missing(self.process.as_ref()?.raised, fence::LISTS_CALLS)
    }

    /// The number of frames that went to its processes.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Time until a process that died can be started again: with less than that, frames are in vain.
    pub fn rest(&self) -> Duration {
        match self.process {
            Some(_) => Duration::ZERO,
            None => RESTART_INTERVAL.saturating_sub(self.started.elapsed()),
        }
    }

    /// Decode one frame. `None` if it contains no picture (only parameter sets).
    ///
    /// # Errors
    /// The frame is damaged, or refers to a missing one; or the process died of it, or did before and is to rest:
    /// request a keyframe and skip frames until it arrives.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Picture>> {
        let process = match &mut self.process {
            Some(process) => process,
            None => {
                let rest = self.rest();
                if !rest.is_zero() {
                    let what = format!(
                        "the decoder's process has died and starts anew in {} ms",
                        rest.as_millis()
                    );
                    return Err(Failure::new(FailureKind::Sink, what, "wait for a keyframe after that"));
                }
                self.started = Instant::now();
                self.process.insert(Process::start(&self.program, self.codec)?)
            }
        };
        let number = self.frames;
        self.frames += 1;
        let fault = match process.channel.decode(frame, DECODE_PATIENCE) {
            Ok(Reply::Picture(picture)) => return Ok(Some(picture)),
            Ok(Reply::Nothing) => return Ok(None),
            Ok(Reply::Failed(words)) => {
                let hint = match self.codec {
                    Codec::H264 | Codec::H265 | Codec::Av1 => {
                        "a frame before it is missing or damaged; ask the source for a keyframe and wait for it"
                    }
                    Codec::Mjpeg => {
                        "wait for the next frame; if none decodes, check that the source sends baseline or progressive \
                         JPEG"
                    }
                };
                return Err(Failure::new(FailureKind::Sink, words, hint));
            }
            Err(fault) => fault,
        };
        let how = self
            .process
            .take()
            .map_or_else(String::new, |process| process.end(&fault));
        Err(Failure::new(
            FailureKind::Sink,
            format!("the decoder's process died at its frame {number}: {how}"),
            "it starts anew with the next keyframe; if that goes on, do not watch this publisher",
        ))
    }
}

/// A running process, which ends when this value is dropped.
struct Process {
    child: Child,
    channel: Channel,
    raised: Raised,
}

impl Drop for Process {
    fn drop(&mut self) {
        cpu::ends(self.child.id());
        // Both fail only if it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start(program: &Path, codec: Codec) -> Result<Self> {
        let failed = |why: String| {
            Failure::new(
                FailureKind::Sink,
                format!("the decoder's process ({}) does not start: {why}", program.display()),
                "free some memory, allow another process, and see that /proc is there",
            )
        };
        let (channel, ends) = Channel::new().map_err(|error| failed(error.to_string()))?;
        super::check_decoder(codec, "this program")?;
        let child = Command::new(program)
            .arg0("sealcast")
            .args(["decoder", "--codec", codec.name()])
            .env_clear()
            .current_dir("/")
            // Ctrl-C is for the program; this process ends with it.
            .process_group(0)
            .stdin(Stdio::from(ends.requests))
            .stdout(Stdio::from(ends.pictures))
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        cpu::began(child.id());
        let raised = Raised {
            landlock: false,
            seccomp: false,
        };
        let mut process = Self { child, channel, raised };
        match process.channel.greeting(START_PATIENCE) {
            Ok(Ok(raised)) => {
                say_what_is_missing(raised);
                process.raised = raised;
            }
            Ok(Err(words)) => return Err(failed(words)),
            Err(fault) => return Err(failed(process.end(&fault))),
        }
        tracing::debug!(pid = process.child.id(), "a decoder's process has started");
        Ok(process)
    }

    /// Exit status of the process. Its socket closes before the system knows; `None` if it closed it and lives.
    fn status(&mut self) -> Option<ExitStatus> {
        cpu::ends(self.child.id());
        for _ in 0..END_LOOKS {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Ok(ended) => return ended,
                Err(_) => break,
            }
        }
        None
    }

    /// End the process. Returns how it failed.
    fn end(mut self, fault: &Fault) -> String {
        match fault {
            Fault::Ended => self
                .status()
                .map_or_else(|| "it closed its socket and was killed".into(), in_words),
            Fault::Silent => format!("it took longer than {} s and was killed", DECODE_PATIENCE.as_secs()),
            Fault::Nonsense(what) => format!("it said {what} and was killed"),
            Fault::System(error) => format!("it cannot be talked to ({error}) and was killed"),
        }
    }
}

fn in_words(status: ExitStatus) -> String {
    let signal = status.signal().and_then(Signal::from_named_raw);
    match signal {
        Some(Signal::SYS) => "it tried what the fence forbids (SIGSYS)".into(),
        Some(Signal::SEGV | Signal::BUS) => "it used memory that it does not have (SIGSEGV)".into(),
        Some(Signal::ABORT) => "it gave up, perhaps for want of memory (SIGABRT)".into(),
        Some(Signal::KILL) => "it was killed (SIGKILL)".into(),
        _ => status.to_string(),
    }
}

/// Say in the log, once, if the fence lacks a part.
fn say_what_is_missing(raised: Raised) {
    static SAID: Once = Once::new();
    if let Some(missing) = missing(raised, fence::LISTS_CALLS) {
        SAID.call_once(|| tracing::warn!("the fence around the decoder is incomplete: {missing}"));
    }
}

/// Says in words what is missing. `listed`: this program has a list of system calls for its processor.
fn missing(raised: Raised, listed: bool) -> Option<&'static str> {
    match (raised.landlock, raised.seccomp, listed) {
        (true, true, _) => None,
        (false, true, _) => {
            Some("this kernel lacks landlock; its list of allowed system calls (seccomp) alone keeps it from files")
        }
        (true, false, true) => {
            Some("this kernel lacks seccomp; landlock keeps it from files, and nothing from other system calls")
        }
        (false, false, true) => {
            Some("this kernel lacks landlock and seccomp; nothing keeps it from your files and the network")
        }
        (true, false, false) => Some(
            "this program has no list of system calls (seccomp) for this kind of processor; landlock keeps it from \
             files, and nothing from other system calls",
        ),
        (false, false, false) => Some(
            "this kernel lacks landlock, and this program has no list of system calls (seccomp) for this kind of \
             processor; nothing keeps it from your files and the network",
        ),
    }
}
