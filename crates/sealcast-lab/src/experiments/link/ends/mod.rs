//! The two ends of a run, each a process of its own: a source that stamps frames, and a sink that notes when they came.
//!
//! They talk with whoever started them by lines: an end prints what the other must know and waits for its word on
//! standard input, which a secret may pass and an argument may not.

mod datagrams;
mod sealed;

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealcast::failure::{Failure, FailureKind, Result};

use super::load::{self, Row};
use super::system::{Carrier, System};

/// What the receiving end prints once packets reach it.
pub(super) const READY: &str = "ready";
/// What the sending end waits for.
pub(super) const GO: &str = "go";
/// What sealcast's publisher prints, with the ticket after it.
pub(super) const TICKET: &str = "ticket ";

/// What an end is told.
pub struct EndConfig {
    /// What carries the frames.
    pub system: System,
    /// Where to send to or to receive at; where sealcast's publisher listens.
    pub address: SocketAddr,
    /// How many frames to send.
    pub frames: u32,
    /// The frames are noted there.
    pub rows: PathBuf,
    /// sealcast's own metrics are left there.
    pub metrics: PathBuf,
}

/// Be the sending end: begin when told to on standard input, end after the last frame.
///
/// # Errors
/// A socket or a file cannot be had, or the session failed.
pub fn send(config: &EndConfig) -> Result<()> {
    let rows = match config.system.carrier {
        Carrier::Sealcast => sealed::publish(config)?,
        Carrier::Srt | Carrier::Rtp => datagrams::send(config)?,
    };
    load::write_rows(&config.rows, &rows)
}

/// Be the receiving end, until standard input ends.
///
/// # Errors
/// As [`send`].
pub fn receive(config: &EndConfig) -> Result<()> {
    let rows = match config.system.carrier {
        Carrier::Sealcast => sealed::watch(config)?,
        Carrier::Srt | Carrier::Rtp => datagrams::receive(config)?,
    };
    load::write_rows(&config.rows, &rows)
}

/// Tell whoever started this end.
pub(crate) fn tell(line: &str) {
    println!("{line}");
    // Nobody listens any more: then this end is ended soon.
    let _ = std::io::stdout().flush();
}

/// The next line of standard input.
fn hear() -> Result<String> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(length) if length > 0 => Ok(line.trim().to_owned()),
        _ => Err(Failure::new(
            FailureKind::Usage,
            "nobody says on standard input when to begin",
            "use `sealcast-lab link`, which starts both ends",
        )),
    }
}

/// Turns true when standard input says so or ends.
pub(crate) fn told() -> Arc<AtomicBool> {
    let told = Arc::new(AtomicBool::new(false));
    let turn = Arc::clone(&told);
    std::thread::spawn(move || {
        let _ = hear();
        turn.store(true, Ordering::Relaxed);
    });
    told
}

fn row(stamp: load::Stamp, bytes: usize, received: u64) -> Row {
    Row {
        number: stamp.number,
        keyframe: stamp.keyframe,
        bytes,
        sent_ns: stamp.sent,
        received_ns: received,
    }
}
