//! Tickets of listening ends, and how they are handed out.

use std::io::IsTerminal;
use std::path::Path;

use sealcast_proto::keys::{Invite, PeerId, Role};
use sealcast_proto::wire::{Host, Ticket};
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;
use crate::private_file::write_secret;
use crate::transport::{ListenUrl, Listener, WebListener, WebUrl};
use crate::web::app;

/// Name of standard output in the place of a file.
const STDOUT: &str = "-";

/// Serve the page at `url`, and return its listener with its ticket, without an invite.
///
/// # Errors
/// As [`WebListener::bind`], or `host` makes no ticket.
pub(super) fn listen_for_browsers(
    url: &WebUrl,
    host: Option<&str>,
    role: Role,
    peer: PeerId,
    metrics: &Metrics,
) -> Result<(Listener, Ticket)> {
    let listener = WebListener::bind(url, host, role, metrics)?;
    let ticket = checked(listener.ticket(host, peer, None)?)?;
    tracing::info!(address = %listener.local_address(), program = app::hash(), "serving the page for browsers");
    Ok((Listener::Web(Box::new(listener)), ticket))
}

/// The ticket of a listening end, without an invite.
pub(super) fn ticket_for(listener: &Listener, listen: ListenUrl, host: Option<&str>, peer: PeerId) -> Result<Ticket> {
    let mut ticket = listen.ticket(listener.local_address()?, peer, None);
    if let Some(host) = host {
        ticket.host = Host::Name(host.to_owned());
    }
    checked(ticket)
}

/// Parses the ticket that will be printed: a mistyped host is reported here and not at the viewer.
fn checked(ticket: Ticket) -> Result<Ticket> {
    match ticket.reveal().parse::<Ticket>() {
        Ok(_) => Ok(ticket),
        Err(error) => Err(Failure::new(
            FailureKind::Usage,
            format!("no ticket can be made: {error}"),
            "check --host",
        )),
    }
}

/// Gives each ticket an invite of its own, so that each admits somebody.
pub(super) fn invite_each(tickets: &mut [Ticket], invite: impl Fn() -> Result<Invite>) -> Result<()> {
    for ticket in tickets {
        ticket.invite = Some(invite()?);
    }
    Ok(())
}

/// The words before a ticket that the other end types: a viewer, a viewer gateway, or a publisher.
pub(super) const TO_WATCH: &str = "sealcast watch";
pub(super) const TO_SERVE_PLAYERS: &str = "sealcast gateway viewer --peer";
pub(super) const TO_PUBLISH: &str = "sealcast publish SOURCE --to";

/// Print the tickets, a line each, or write them to a file that only its owner can read. A ticket for browsers is
/// written as the link to its page. On a terminal they are the lines that the other end types, which begin with
/// `typed`. Where standard output is no terminal
/// it may end in a log that others read, so a ticket with an invite is printed there only if the user asks for it.
pub(super) fn hand_out(tickets: &[Ticket], typed: &str, file: Option<&Path>) -> Result<()> {
    let secret = tickets.iter().any(|ticket| ticket.invite.is_some());
    let lines = match file {
        None if std::io::stdout().is_terminal() => to_give_away(tickets, typed),
        _ => tickets
            .iter()
            .map(|ticket| link(ticket, typed).unwrap_or_else(|| ticket.reveal()) + "\n")
            .collect(),
    };
    hand_out_lines(lines, secret, file)
}

/// The link to the page of a ticket for browsers. The page watches unless its address asks for the opposite.
fn link(ticket: &Ticket, typed: &str) -> Option<String> {
    let link = ticket.reveal_page_link()?;
    Some(match typed {
        TO_PUBLISH => link.replacen('#', "?publish#", 1),
        _ => link,
    })
}

/// The tickets as lines for people: one is enough, and it says what to do with it.
fn to_give_away(tickets: &[Ticket], typed: &str) -> String {
    let mut text = String::new();
    for (at, ticket) in tickets.iter().enumerate() {
        let way = match (link(ticket, typed), at) {
            (Some(link), 0) => format!("Give this link to the other side, to open in a browser:\n\n  {link}\n"),
            (Some(link), _) => format!("Or this link, to open in a browser:\n\n  {link}\n"),
            (None, 0) => format!(
                "Give this line to the other side, to type there:\n\n  {typed} '{}'\n",
                ticket.reveal()
            ),
            (None, _) => format!(
                "Or this line, over {}:\n\n  {typed} '{}'\n",
                ticket.transport.name(),
                ticket.reveal()
            ),
        };
        text.push_str(&format!("\n{way}"));
    }
    text + "\n"
}

/// As [`hand_out`], for any lines that are perhaps secret.
pub(super) fn hand_out_lines(lines: String, secret: bool, file: Option<&Path>) -> Result<()> {
    let lines = Zeroizing::new(lines);
    match file {
        Some(path) if path != Path::new(STDOUT) => {
            write_secret(path, lines.as_bytes())?;
            tracing::info!(file = %path.display(), "the ticket is written");
        }
        None if secret && !std::io::stdout().is_terminal() => tracing::warn!(
            "the ticket has a secret and is not printed, because standard output is no terminal: \
             --ticket-file FILE writes it to a new file, --ticket-file - prints it"
        ),
        _ => print!("{}", *lines),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(transport: &str) -> Ticket {
        let text = format!(
            "sealcast://192.0.2.7:9553/{}a?transport={transport}#{}",
            "b".repeat(51),
            "a".repeat(26)
        );
        text.parse().expect("a ticket")
    }

    #[test]
    fn a_person_gets_the_line_that_the_other_side_types_and_the_link_that_it_opens() {
        let (own, page) = (ticket("udp"), ticket("https"));
        let shown = to_give_away(&[own.clone(), page.clone()], TO_WATCH);
        let lines: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
        let link = page.reveal_page_link().expect("a link");
        assert_eq!(
            lines,
            [
                "Give this line to the other side, to type there:",
                &format!("  sealcast watch '{}'", own.reveal()),
                "Or this link, to open in a browser:",
                &format!("  {link}"),
            ]
        );
        let shown = to_give_away(&[page], TO_PUBLISH);
        assert!(
            shown.contains("Give this link") && shown.contains("/?publish#sealcast://"),
            "{shown}"
        );
        let shown = to_give_away(&[own.clone(), own], TO_SERVE_PLAYERS);
        assert!(
            shown.contains("  sealcast gateway viewer --peer 'sealcast://"),
            "{shown}"
        );
        assert!(shown.contains("Or this line, over udp:"), "{shown}");
    }
}
