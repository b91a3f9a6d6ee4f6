//! The two ends of a run, each a process of its own: a source that stamps frames, and a sink that records their
//! arrival.
//!
//! They exchange lines with the process that started them. An end prints the information for the other end and reads
//! the other's from standard input, which other users cannot see, unlike arguments; it may contain secrets.

mod config;
mod datagrams;
mod sealed;
mod talk;

pub use config::EndConfig;
pub(crate) use sealed::offer;
pub(super) use talk::{GO, READY, TICKET};
pub(crate) use talk::{tell, told};

use sealcast::failure::Result;

use super::load;
use super::system::Carrier;

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
