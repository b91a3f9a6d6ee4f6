//! Tickets of listening ends, and how they are handed out.

use std::io::IsTerminal;
use std::path::Path;

use sealcast_proto::keys::{PeerId, Role};
use sealcast_proto::wire::{Host, Ticket};
use zeroize::Zeroizing;

use super::peers;
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::peers::Terms;
use crate::keys::publisher::Publisher;
use crate::meter::metrics::Metrics;
use crate::private_file::{read_secret, write_secret};
use crate::run::ways::{Way, Ways, line};
use crate::run::{Admission, ControlSocket};
use crate::transport::{ListenUrl, Listener, WebListener, WebUrl};
use crate::web::app;

/// Name of standard output in the place of a file.
pub(super) const STDOUT: &str = "-";

/// Serve the page at `url`, and return its listener with the way to it.
///
/// # Errors
/// As [`WebListener::bind`], or `host` makes no ticket.
pub(super) fn listen_for_browsers(
    url: &WebUrl,
    host: Option<&str>,
    role: Role,
    peer: PeerId,
    metrics: &Metrics,
) -> Result<(Listener, Way)> {
    let listener = WebListener::bind(url, host, role, metrics)?;
    let way = checked(listener.way(host, peer))?;
    tracing::info!(address = %listener.local_address(), program = app::hash(), "serving the page for browsers");
    Ok((Listener::Web(Box::new(listener)), way))
}

/// The way to a listener.
pub(super) fn way_to(listener: &Listener, listen: ListenUrl, host: Option<&str>, peer: PeerId) -> Result<Way> {
    let (bound, host) = (listener.local_address()?, host.map(str::to_owned));
    checked(move || {
        let mut ticket = listen.ticket(bound, peer, None);
        if let Some(host) = &host {
            ticket.host = Host::Name(host.clone());
        }
        Ok(ticket)
    })
}

/// Parses the ticket that will be printed: a mistyped host is reported here and not at the viewer.
fn checked(way: impl Fn() -> Result<Ticket> + Send + Sync + 'static) -> Result<Way> {
    match way()?.reveal().parse::<Ticket>() {
        Ok(_) => Ok(Box::new(way)),
        Err(error) => Err(Failure::new(
            FailureKind::Usage,
            format!("no ticket can be made: {error}"),
            "check --host",
        )),
    }
}

/// What a start hands out, and where.
pub(super) struct Start<'s> {
    pub(super) admission: &'s Admission,
    /// What the invites of its tickets are good for; `None` for tickets without.
    pub(super) terms: Option<Terms>,
    /// Where the tickets go.
    pub(super) file: Option<&'s Path>,
    /// The folder of this end.
    pub(super) folder: Option<&'s Path>,
}

impl<'s> Start<'s> {
    /// That of a publisher or camera gateway.
    pub(super) fn of(settings: &'s Settings, publisher: &'s Publisher, admission: &'s Admission) -> Result<Self> {
        let configured = &settings.config.publish;
        let terms = peers::invite_terms(settings)?;
        Ok(Self {
            admission,
            terms: (configured.invite && !configured.open).then_some(terms),
            file: configured.ticket_file.as_deref(),
            folder: publisher.folder(),
        })
    }

    /// Print the tickets for these ways, each with an invite of its own, so that each admits somebody. This is the last
    /// of a start that may fail, and its invites are kept only then. Returns the socket for commands, which can invite
    /// others now.
    pub(super) fn hand_out(&self, ways: Ways, control: Option<ControlSocket>) -> Result<Option<ControlSocket>> {
        let mut tickets = ways.tickets()?;
        let invites = match self.terms {
            Some(terms) => self.admission.invites_of_start(&tickets, terms)?,
            None => Vec::new(),
        };
        for (ticket, invite) in tickets.iter_mut().zip(&invites) {
            ticket.invite = invite.as_ref().map(|live| live.invite.clone());
        }
        if !tickets.is_empty() {
            let secret = tickets.iter().any(|ticket| ticket.invite.is_some());
            let lines = tickets.iter().map(|ticket| line(ticket, ways.role()) + "\n");
            hand_out_lines(lines.collect(), secret, self.file)?;
        }
        self.admission.keep(invites.into_iter().flatten());
        if let Some(folder) = self.folder {
            ways.remember(folder);
        }
        Ok(control.map(|socket| socket.inviting(ways)))
    }
}

/// Print lines, or write them to a file that only its owner can read. Where standard output is no terminal it may end
/// in a log that others read, so what is secret is printed there only if the user asks for it.
pub(super) fn hand_out_lines(lines: String, secret: bool, file: Option<&Path>) -> Result<()> {
    let lines = Zeroizing::new(lines);
    match file {
        Some(path) if path != Path::new(STDOUT) => match read_secret(path) {
            Ok(there) if there == lines => tracing::info!(file = %path.display(), "the ticket is in its file already"),
            _ => {
                write_secret(path, lines.as_bytes())?;
                tracing::info!(file = %path.display(), "the ticket is written");
            }
        },
        None if secret && !std::io::stdout().is_terminal() => tracing::warn!(
            "the ticket has a secret and is not printed, because standard output is no terminal: \
             --ticket-file FILE writes it to a new file, --ticket-file - prints it"
        ),
        _ => print!("{}", *lines),
    }
    Ok(())
}
