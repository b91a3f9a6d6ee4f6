//! Output of commands: their answers to standard output, and what is said beside them to standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use rustix::termios::tcgetwinsize;
use sealcast_proto::words::is_unsafe;

use crate::failure::{Failure, FailureKind, Result};

/// Columns and lines of a terminal that does not tell how many it has.
const USUAL: (usize, usize) = (80, 24);

/// Writes a text, whole and as it is: one of our own making, such as a screen with its colours.
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

/// Several lines as they may be shown, whoever's words are in them: none of them moves a cursor or turns text around.
fn shown(text: &str) -> String {
    let letter = |letter| match letter {
        '\n' | '\t' => letter,
        letter if is_unsafe(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    text.chars().map(letter).collect()
}

/// Writes lines in which there may be words of others.
///
/// # Errors
/// As [`write()`] has them.
pub(crate) fn write_lines(text: &str) -> io::Result<()> {
    write(&shown(text))
}

/// Says something beside the answer of a command, on standard error. Nobody may be there to read it.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{}", shown(&text.to_string()));
}

/// Prints the answer of a command, in which there may be words of others. A reader that has enough of it, as `head`
/// has, is no failure.
///
/// # Errors
/// Kind `Sink`: it cannot be written.
pub(crate) fn print(text: &str) -> Result<()> {
    match write_lines(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let what = format!("standard output cannot be written ({error})");
            Err(Failure::new(FailureKind::Sink, what, "write into a file that has room"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_in_an_answer_move_no_cursor_and_turn_no_line_around() {
        for (said, seen) in [
            ("front\nback yard\n", "front\nback yard\n"),
            ("a\tb\n", "a\tb\n"),
            ("schön 日本 שלום 🎥\n", "schön 日本 שלום 🎥\n"),
            ("gpj.\u{202e}kcatta\n", "gpj.\u{fffd}kcatta\n"),
            (
                "a\u{2067}b\u{200f}c\u{61c}d\u{2028}e\n",
                "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\n",
            ),
            ("\u{1b}[2Jgone\r\u{7}\n", "\u{fffd}[2Jgone\u{fffd}\u{fffd}\n"),
            ("\u{9b}31m\0\u{8}\n", "\u{fffd}31m\u{fffd}\u{fffd}\n"),
        ] {
            assert_eq!(shown(said), seen);
        }
    }
}
