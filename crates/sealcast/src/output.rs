//! What commands print to standard output.

use std::io::{self, ErrorKind, Write};

use crate::failure::{Failure, FailureKind, Result};

/// Writes a text, whole.
///
/// # Errors
/// It cannot be written: nobody reads it any more, or a disk is full.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Prints the answer of a command. A reader that has enough of it, as `head` has, is no failure.
///
/// # Errors
/// Kind `Sink`: it cannot be written.
pub(crate) fn print(text: &str) -> Result<()> {
    match write(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let what = format!("standard output cannot be written ({error})");
            Err(Failure::new(FailureKind::Sink, what, "write into a file that has room"))
        }
        _ => Ok(()),
    }
}
