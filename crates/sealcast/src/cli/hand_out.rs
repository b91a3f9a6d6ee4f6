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

/// Print the tickets, a line each, or write them to a file that only its owner can read. A ticket for browsers is
/// written as the link to its page, which does the opposite of this end's `role`. Where standard output is no terminal
/// it may end in a log that others read, so a ticket with an invite is printed there only if the user asks for it.
pub(super) fn hand_out(tickets: &[Ticket], role: Role, file: Option<&Path>) -> Result<()> {
    let line = |ticket: &Ticket| {
        let line = match (ticket.reveal_page_link(), role) {
            (Some(link), Role::Viewer) => link.replacen('#', "?publish#", 1),
            (Some(link), Role::Publisher) => link,
            (None, _) => ticket.reveal(),
        };
        line + "\n"
    };
    let secret = tickets.iter().any(|ticket| ticket.invite.is_some());
    hand_out_lines(tickets.iter().map(line).collect(), secret, file)
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
