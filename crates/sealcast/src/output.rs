//! Output of commands to standard output.

use std::io::{self, ErrorKind, IsTerminal, Write};

use rustix::termios::tcgetwinsize;

use crate::failure::{Failure, FailureKind, Result};

/// Columns and lines of a terminal that does not tell how many it has.
const USUAL: (usize, usize) = (80, 24);

/// Writes a text, whole.
///
/// # Errors
/// It cannot be written: nobody reads it any more, or a disk is full.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Columns and lines of the terminal that standard output is, if it is one.
pub(crate) fn terminal() -> Option<(usize, usize)> {
    let output = io::stdout();
    output.is_terminal().then(|| {
        let told = tcgetwinsize(&output).map_or((0, 0), |size| (size.ws_col.into(), size.ws_row.into()));
        let or_usual = |told: usize, usual: usize| if told == 0 { usual } else { told };
        (or_usual(told.0, USUAL.0), or_usual(told.1, USUAL.1))
    })
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
