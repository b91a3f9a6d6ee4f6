//! Tickets as users give them.

use std::io::Read as _;
use std::path::Path;

use sealcast_proto::wire::{MAX_TICKET, Ticket};

use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::read_secret_line;
use crate::suggest;

/// A ticket given as text, as `@FILE`, or as `-` for standard input.
pub(super) fn ticket(typed: &str) -> Result<Ticket> {
    match typed.strip_prefix('@') {
        Some(path) => in_file(Path::new(path)),
        None if typed == "-" => parse(&from_stdin()?),
        None => parse(typed),
    }
}

/// The ticket, given as text or in a file.
pub(super) fn ticket_in_force(ticket: Option<&String>, file: Option<&Path>) -> Result<Ticket> {
    match (ticket, file) {
        (Some(text), _) => self::ticket(text),
        (None, Some(path)) => in_file(path),
        (None, None) => Err(Failure::new(
            FailureKind::Usage,
            "there is no ticket to watch with",
            "give the line that the publisher printed, or @FILE with it",
        )),
    }
}

fn in_file(path: &Path) -> Result<Ticket> {
    let line = read_secret_line(path).map_err(|mut failure| {
        if !path.exists() {
            failure.hint = "check the path; the other end writes its ticket with --ticket-file FILE".to_owned();
        }
        failure
    })?;
    parse(&line)
}

fn parse(text: &str) -> Result<Ticket> {
    let text = text.trim();
    text.parse().map_err(|error| {
        let hint = suggest::ticket(text).unwrap_or_else(|| "copy the whole line that the publisher printed".to_owned());
        Failure::new(FailureKind::Keys, format!("that is no ticket: {error}"), hint)
    })
}

fn from_stdin() -> Result<String> {
    let mut text = String::new();
    let limit = MAX_TICKET as u64 + 2;
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_string(&mut text)
        .map_err(|error| {
            let what = format!("the ticket could not be read from standard input ({error})");
            Failure::new(FailureKind::Keys, what, "pipe one line of text into it")
        })?;
    Ok(text)
}
