//! The two ends of a run, each a process of its own: a source that stamps frames, and a sink that records their
//! arrival.
//!
//! They exchange lines with the process that started them. An end prints the information for the other end and reads
//! the other's from standard input, which other users cannot see, unlike arguments; it may contain secrets.

mod datagrams;
mod sealed;

pub(crate) use sealed::offer;

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealcast::failure::{Failure, FailureKind, Result};

use super::load::{self, Row};
use super::system::{Carrier, System};

/// Printed by the receiving end once packets reach it.
pub(super) const READY: &str = "ready";
/// The line that starts the sending end.
pub(super) const GO: &str = "go";
/// Printed by sealcast's publisher before the ticket.
pub(super) const TICKET: &str = "ticket ";

/// Configuration of an end.
pub struct EndConfig {
    /// The system that carries the frames.
    pub system: System,
    /// The address to send to or to receive at; for sealcast's publisher, the address to listen at.
    pub address: SocketAddr,
    /// Number of frames to send.
    pub frames: u32,
    /// File for the recorded frames.
    pub rows: PathBuf,
    /// File for sealcast's own metrics.
    pub metrics: PathBuf,
}

/// Runs the sending end: starts on a line from standard input, ends after the last frame.
///
/// # Errors
/// A socket or a file cannot be opened, or the session failed.
pub fn send(config: &EndConfig) -> Result<()> {
    let rows = match config.system.carrier {
        Carrier::Sealcast => sealed::publish(config)?,
        Carrier::Srt | Carrier::Rtp => datagrams::send(config)?,
    };
    load::write_rows(&config.rows, &rows)
}

/// Runs the receiving end, until standard input ends.
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

/// Prints a line for the process that started this end.
pub(crate) fn tell(line: &str) {
    println!("{line}");
    // If that process is gone, it ends this end soon.
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

/// Becomes true when standard input has a line or ends.
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
