//! The protocol with the process that a library runs in. `host.c` is the other side.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use sealcast::meter::statistics::median;
use sealcast_cipher::Packet;

use crate::ciphers::cycles;
use crate::ciphers::worker::{AGAIN, Act, Done, FirstUse, Turn, Turns, Worker};

/// Time limit for an answer, in addition to the requested measuring time. A batch takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for a process to end that no longer answers.
const GRACE: Duration = Duration::from_secs(1);
/// The first word of every answer.
const MAGIC: u32 = 0x5ea1_ca57;
/// Limit for requests and answers in bytes.
const MOST_BODY: usize = 64 << 20;

/// The requests to the process.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Operation {
    Load = 1,
    Seal,
    Open,
    Turns,
    Keys,
    Ivs,
    Again,
    Work,
    First,
}

impl Operation {
    fn words(self) -> &'static str {
        match self {
            Self::Load => "loading the library and a key",
            Self::Seal => "enciphering",
            Self::Open => "deciphering",
            Self::Turns => "being timed",
            Self::Keys => "setting up keys",
            Self::Ivs => "setting up IVs",
            Self::Again => "coding one block",
            Self::Work => "enciphering for a meter",
            Self::First => "being used for the first time",
        }
    }
}

type Answer = io::Result<Done<Vec<u8>>>;

/// Properties of a cipher that the process finds out with the first key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Size of the context that the cipher writes, in bytes; 0 before a key is loaded.
    pub(super) context_bytes: usize,
    /// True if it can encipher in place; otherwise it has two buffers.
    pub(super) in_place: bool,
}

/// A library running in its process.
pub(in crate::ciphers) struct Session {
    child: Child,
    requests: Sender<Vec<u8>>,
    answers: Receiver<Answer>,
    pub(super) found: Found,
    /// Limit for the size of its context.
    most_context_bytes: Option<usize>,
}

impl Session {
    /// # Errors
    /// The process cannot be started.
    pub(super) fn start(host: &Path, library: &Path, iv_bytes: usize, most_context_bytes: Option<usize>) -> Done<Self> {
        let mut command = Command::new(host);
        command.arg(library).arg(iv_bytes.to_string());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|error| format!("its process cannot be started ({error})"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.expect("both are piped");
        let (requests, asked) = channel();
        let (said, answers) = channel();
        // A thread, so that the time limit also holds for a library that neither reads nor answers.
        std::thread::spawn(move || converse(stdin, stdout, &asked, &said));
        Ok(Self {
            child,
            requests,
            answers,
            found: Found::default(),
            most_context_bytes,
        })
    }

    fn ask(&mut self, operation: Operation, body: &[u8], time: Duration) -> Done<Vec<u8>> {
        let answer = self.answer(operation, body, time);
        answer.map_err(|why| format!("{why}; docs/external-cipher.md has what to do"))
    }

    fn answer(&mut self, operation: Operation, body: &[u8], time: Duration) -> Done<Vec<u8>> {
        if body.len() > MOST_BODY {
            return Err(format!(
                "{} bytes at once are too many for a foreign cipher",
                body.len()
            ));
        }
        let head = [operation as u32, body.len() as u32].map(u32::to_ne_bytes);
        // If this fails, the thread has ended, which shows in the answers.
        let _ = self.requests.send([head.as_flattened(), body].concat());
        let doing = operation.words();
        match self.answers.recv_timeout(time + PATIENCE) {
            Ok(Ok(answer)) => answer.map_err(|words| format!("{words} (while {doing})")),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => Err(format!(
                "its process said what is no answer while {doing}: does the library write to files not its own?"
            )),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "gave no answer within {} s while {doing}",
                (time + PATIENCE).as_secs()
            )),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(format!("{} while {doing}", self.end())),
        }
    }

    /// Description of the end of the process.
    fn end(&mut self) -> String {
        let began = Instant::now();
        while began.elapsed() < GRACE {
            if let Ok(Some(status)) = self.child.try_wait() {
                return format!("its process ended ({status})");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        "its process closed its pipes".to_owned()
    }

    fn code(&mut self, operation: Operation, packets: &mut [Packet<'_>]) -> Done<()> {
        let coded = self.ask(operation, &batch(packets), Duration::ZERO)?;
        let lengths: usize = packets.iter().map(|packet| packet.data.len()).sum();
        if coded.len() != lengths {
            return Err(format!("its process gave {} bytes for {lengths}", coded.len()));
        }
        let mut rest = coded.as_slice();
        for packet in packets {
            let (own, others) = rest.split_at(packet.data.len());
            packet.data.copy_from_slice(own);
            rest = others;
        }
        Ok(())
    }

    /// Loads a first key and enciphers a block, then frames. Nothing may have been asked of the process before. `bytes`
    /// has the lengths of block and frame.
    pub(super) fn first_use(&mut self, found: &Found, key: &[u8], bytes: [usize; 2]) -> Done<FirstUse> {
        let [block, frame] = bytes;
        let words =
            [usize::from(found.in_place), found.context_bytes, block, frame].map(|word| (word as u32).to_ne_bytes());
        let figures = self.ask(Operation::First, &[words.as_flattened(), key].concat(), Duration::ZERO)?;
        let figures: Vec<u64> = numbers(&figures).collect();
        let [rss_before_bytes, rss_after_bytes, first_ns, again @ ..] = figures.as_slice() else {
            return Err("its process gave no figures".to_owned());
        };
        if again.len() != AGAIN || *rss_before_bytes == 0 {
            return Err("its process cannot tell its memory".to_owned());
        }
        Ok(FirstUse {
            first_ns: *first_ns as f64,
            again_ns: median(&mut again.iter().map(|&ns| ns as f64).collect::<Vec<_>>()),
            rss_before_bytes: *rss_before_bytes,
            rss_after_bytes: *rss_after_bytes,
        })
    }

    fn time(&mut self, operation: Operation, count: u32, what: &[u8]) -> Done<Duration> {
        let took = self.ask(operation, &[&count.to_ne_bytes(), what].concat(), Duration::ZERO)?;
        numbers(&took)
            .next()
            .map(Duration::from_nanos)
            .ok_or_else(|| "its process gave no time".to_owned())
    }
}

impl Worker for Session {
    fn load(&mut self, key: &[u8]) -> Done<()> {
        let found = self.ask(Operation::Load, key, Duration::ZERO)?;
        let [context, in_place] = found.as_chunks::<4>().0 else {
            return Err("its process did not say what it found".to_owned());
        };
        self.found = Found {
            context_bytes: u32::from_ne_bytes(*context) as usize,
            in_place: u32::from_ne_bytes(*in_place) == 1,
        };
        match self.most_context_bytes {
            Some(most) if self.found.context_bytes > most => Err(format!(
                "writes {} bytes to its context, which was said to have {most}: give context={0} or more",
                self.found.context_bytes
            )),
            _ => Ok(()),
        }
    }

    fn seal(&mut self, packets: &mut [Packet<'_>]) -> Done<()> {
        self.code(Operation::Seal, packets)
    }

    fn open(&mut self, packets: &mut [Packet<'_>]) -> Done<bool> {
        self.code(Operation::Open, packets)?;
        Ok(true)
    }

    fn turns(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<Turns> {
        let limit = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).to_ne_bytes();
        let took = self.ask(Operation::Turns, &[&limit[..], &batch(packets)].concat(), time)?;
        let took: Vec<u64> = numbers(&took).collect();
        let [cycles, running, took @ ..] = took.as_slice() else {
            return Err("its process gave no cycles".to_owned());
        };
        let (turns @ [_, ..], []) = took.as_chunks() else {
            return Err("its process gave no times".to_owned());
        };
        let turn = |took: &[u64; 3]| {
            let [nothing, seal, open] = took.map(|ns| ns as f64);
            Turn { nothing, seal, open }
        };
        Ok(Turns {
            each: turns.iter().map(turn).collect(),
            core_hz: cycles::hz(*cycles, Duration::from_nanos(*running)),
        })
    }

    fn work(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<u64> {
        let limit = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).to_ne_bytes();
        let done = self.ask(Operation::Work, &[&limit[..], &batch(packets)].concat(), time)?;
        numbers(&done)
            .next()
            .filter(|times| *times > 0)
            .ok_or_else(|| "its process did not say how often it enciphered".to_owned())
    }

    fn again(&mut self, act: Act, iv: &[u8], from: &[u8], count: u32) -> Done<Duration> {
        let data = &mut from.to_vec();
        let packet = batch(&[Packet { iv, data }]);
        self.time(
            Operation::Again,
            count,
            &[&(act as u32).to_ne_bytes()[..], &packet].concat(),
        )
    }

    fn keys(&mut self, count: u32) -> Done<Duration> {
        self.time(Operation::Keys, count, &[])
    }

    fn ivs(&mut self, iv: &[u8], count: u32) -> Done<Option<Duration>> {
        if iv.is_empty() {
            return Ok(None);
        }
        self.time(Operation::Ivs, count, iv).map(Some)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // These fail only if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The encoding of packets in requests.
fn batch(packets: &[Packet<'_>]) -> Vec<u8> {
    let one = |packet: &Packet<'_>| [packet.iv, &(packet.data.len() as u32).to_ne_bytes(), packet.data].concat();
    packets.iter().flat_map(one).collect()
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().copied().map(u64::from_ne_bytes)
}

fn converse(mut stdin: ChildStdin, mut stdout: ChildStdout, asked: &Receiver<Vec<u8>>, said: &Sender<Answer>) {
    for request in asked {
        // A process that ended early may have written the reason.
        let _ = stdin.write_all(&request);
        let answer = answer(&mut stdout);
        let ended = answer.is_err();
        if said.send(answer).is_err() || ended {
            return;
        }
    }
}

fn answer(from: &mut impl Read) -> Answer {
    let mut head = [0; 12];
    from.read_exact(&mut head)?;
    let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (status, length) = (word(4), word(8) as usize);
    if word(0) != MAGIC || status > 1 || length > MOST_BODY {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(match status {
        0 => Ok(body),
        _ => Err(String::from_utf8_lossy(&body).into_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ciphers::worker::FRAMES;

    #[test]
    fn what_is_no_answer_is_told_from_one_that_breaks_off() {
        let said = |words: [u32; 3], body: &[u8]| {
            let head = words.map(u32::to_ne_bytes);
            answer(&mut [head.as_flattened(), body].concat().as_slice()).map_err(|error| error.kind())
        };
        assert_eq!(said([MAGIC, 0, 2], b"ab"), Ok(Ok(b"ab".to_vec())));
        assert_eq!(said([MAGIC, 1, 2], b"no"), Ok(Err("no".to_owned())));
        assert_eq!(said([MAGIC, 0, 3], b"ab"), Err(io::ErrorKind::UnexpectedEof));
        for head in [[MAGIC + 1, 0, 2], [MAGIC, 2, 2], [MAGIC, 0, MOST_BODY as u32 + 1]] {
            assert_eq!(said(head, b"ab"), Err(io::ErrorKind::InvalidData), "{head:?}");
        }
    }

    #[test]
    fn both_sides_have_the_same_bounds() {
        let host = include_str!("host.c");
        assert_eq!((MAGIC, MOST_BODY), (0x5ea1_ca57, 64 << 20));
        assert!(host.contains("#define MAGIC 0x5ea1ca57u") && host.contains("#define MOST_BODY (64u << 20)"));
        let counts = [("FRAMES", usize::from(FRAMES)), ("REPEATED", AGAIN)];
        assert!(
            counts
                .iter()
                .all(|(name, count)| host.contains(&format!("#define {name} {count}u\n")))
        );
    }
}
