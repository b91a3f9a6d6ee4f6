//! Tickets as users give them.

use std::io::Read as _;
use std::path::Path;

use sealcast_proto::keys::PeerId;
use sealcast_proto::wire::{MAX_TICKET, Ticket};
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::read_ticket;
use crate::suggest;

/// Beginning of a ticket.
const SCHEME: &str = "sealcast://";
/// Maximum of bytes that are read from standard input: a link, or a ticket in a line, with escapes.
const MAX_TEXT: u64 = 4 * MAX_TICKET as u64;

/// A ticket given as text, as `@FILE`, or as `-` for standard input.
pub(super) fn ticket(typed: &str) -> Result<Ticket> {
    match typed.strip_prefix('@') {
        Some(path) => in_file(Path::new(path)),
        None if typed == "-" => parse(&from_stdin()?),
        None => parse(typed),
    }
}

/// Checks a ticket that is used later, if there is one. Standard input can be read only once.
pub(super) fn check_ticket(typed: Option<&str>) -> Result<()> {
    typed.filter(|typed| *typed != "-").map(ticket).transpose().map(drop)
}

/// The ticket, given as text or in a file. `typed` is how it is given on the command line, for who gives none.
pub(super) fn ticket_in_force(ticket: Option<&String>, file: Option<&Path>, typed: &str) -> Result<Ticket> {
    match (ticket, file) {
        (Some(text), _) => self::ticket(text),
        (None, Some(path)) => in_file(path),
        (None, None) => Err(Failure::new(
            FailureKind::Usage,
            "there is no ticket",
            format!("type: {typed}; the publisher prints the line, or writes it with --ticket-file FILE"),
        )),
    }
}

fn in_file(path: &Path) -> Result<Ticket> {
    read_ticket(path, parse).map_err(|mut failure| {
        if !path.as_os_str().is_empty() && !path.exists() {
            failure.hint = "check the path; the other end writes its ticket with --ticket-file FILE".to_owned();
        }
        failure
    })
}

/// True if all of a text are lines with tickets, or links, of this peer.
pub(super) fn are_of(text: &str, peer: PeerId) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    !text.trim().is_empty() && lines.all(|line| peer_of(line) == Some(peer))
}

/// The peer of the ticket in a line, or in a link.
pub(super) fn peer_of(line: &str) -> Option<PeerId> {
    Some(ticket_in(line).parse::<Ticket>().ok()?.peer)
}

fn parse(text: &str) -> Result<Ticket> {
    let text = text.trim();
    ticket_in(text).parse().map_err(|error| {
        let hint = suggest::ticket(text).unwrap_or_else(|| "copy the whole line that the publisher printed".to_owned());
        Failure::new(FailureKind::Keys, format!("that is no ticket: {error}"), hint)
    })
}

/// The ticket in what was copied: itself, a page's link, which ends with one, or the line that a publisher prints for
/// its viewers; also if a mail program broke it into lines. The page reads it the same way.
fn ticket_in(text: &str) -> Zeroizing<String> {
    let text: Zeroizing<String> = Zeroizing::new(text.split_whitespace().collect());
    let text = text
        .trim_start_matches(['<', '"', '\''])
        .trim_end_matches(['>', '"', '\'']);
    let plain = unescaped(text).unwrap_or_else(|| Zeroizing::new(text.to_owned()));
    match plain.find(SCHEME) {
        Some(at) => Zeroizing::new(plain[at..].to_owned()),
        None => plain,
    }
}

/// A text without the escapes that links have, and chat programs put into them.
fn unescaped(text: &str) -> Option<Zeroizing<String>> {
    let mut parts = text.split('%');
    let mut bytes = Zeroizing::new(parts.next().unwrap_or_default().as_bytes().to_vec());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    std::str::from_utf8(&bytes)
        .ok()
        .map(|text| Zeroizing::new(text.to_owned()))
}

fn from_stdin() -> Result<String> {
    let mut text = String::new();
    let limit = MAX_TEXT;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_found_in_a_link_in_a_line_to_type_and_in_what_a_mail_program_made_of_it() {
        let peer = "b".repeat(51) + "a";
        let invite = "a".repeat(26);
        let own = format!("sealcast://192.0.2.7:9443/{peer}?transport=https#{invite}");
        let link = format!("https://192.0.2.7:9443/#{}", own.replace('#', "%23"));
        let (half, rest) = link.split_at(60);
        for text in [
            own.clone(),
            link.clone(),
            link.replace("/#", "/?publish#"),
            link.replace("://", "%3A%2F%2F"),
            link.replace("%23", "#"),
            format!("<{link}>"),
            format!("'{own}'"),
            format!("  sealcast watch '{own}'\n"),
            format!("sealcast gateway viewer --peer '{own}'"),
            format!("{half}\r\n{rest}\r\n"),
        ] {
            assert_eq!(
                parse(&text).ok().map(|ticket| ticket.reveal()),
                Some(own.clone()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_has_no_ticket_is_refused_without_its_words() {
        for text in [
            "",
            "hunter2",
            "https://192.0.2.7:9443/",
            "%zz",
            "sealcast://h:1/hunter2%",
        ] {
            let failure = parse(text).err().expect("no ticket");
            assert!(
                failure.kind == FailureKind::Keys && !failure.what.contains("hunter2"),
                "{failure}"
            );
        }
    }
}
