//! Tickets of listening ends, and how they are handed out.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use sealcast_proto::keys::{PeerId, Role};
use sealcast_proto::wire::Ticket;
use zeroize::Zeroizing;

use super::peers;
use super::ticket::{are_of, peer_of};
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::peers::Terms;
use crate::keys::publisher::Publisher;
use crate::meter::metrics::Metrics;
use crate::output;
use crate::private_file::{read_private, replace_secret, write_secret};
use crate::run::session::ways::{Way, Ways, line};
use crate::run::{Admission, ControlSocket};
use crate::transport::{Advertised, ListenUrl, Listener, WebListener, WebUrl};
use crate::web::app;

/// Maximum of bytes that a file of tickets has; another file is not replaced.
const MAX_FILE: u64 = 16 << 10;

/// Name of standard output in the place of a file.
pub(super) const STDOUT: &str = "-";

/// Serve the page at `url`, and return its listener with the way to it.
///
/// # Errors
/// As [`WebListener::bind`], or no ticket can be made.
pub(super) fn listen_for_browsers(
    url: &WebUrl,
    advertised: &Advertised,
    role: Role,
    peer: PeerId,
    metrics: &Metrics,
) -> Result<(Listener, Way)> {
    let listener = WebListener::bind(url, advertised, role, metrics)?;
    let way = checked(listener.way(advertised, peer))?;
    tracing::info!(address = %listener.local_address(), program = app::hash(), "serving the page for browsers");
    Ok((Listener::Web(Box::new(listener)), way))
}

/// The way to a listener.
pub(super) fn way_to(listener: &Listener, listen: ListenUrl, advertised: &Advertised, peer: PeerId) -> Result<Way> {
    let (bound, advertised) = (listener.local_address()?, advertised.clone());
    checked(move || Ok(listen.ticket(&advertised, bound, peer)))
}

/// Parses the ticket that will be printed: what makes none is reported here and not at the viewer.
fn checked(way: impl Fn() -> Result<Ticket> + Send + Sync + 'static) -> Result<Way> {
    match way()?.reveal().parse::<Ticket>() {
        Ok(_) => Ok(Box::new(way)),
        Err(error) => Err(Failure::new(
            FailureKind::Usage,
            format!("no ticket can be made: {error}"),
            "shorten what --advertise says",
        )),
    }
}

/// The words before a ticket that the other end types: a viewer, a viewer gateway, or a publisher.
pub(super) const TO_WATCH: &str = "sealcast watch";
pub(super) const TO_SERVE_PLAYERS: &str = "sealcast gateway viewer --peer";
pub(super) const TO_PUBLISH: &str = "sealcast publish SOURCE --to";

/// Tickets of a start, and their destination.
pub(super) struct Start<'s> {
    pub(super) admission: &'s Admission,
    /// Terms of the invites of its tickets; `None` for tickets without.
    pub(super) terms: Option<Terms>,
    /// File for the tickets, if they go to one.
    pub(super) file: Option<&'s Path>,
    /// The folder of this end.
    pub(super) folder: Option<&'s Path>,
    /// The words before a ticket that the other end types.
    pub(super) typed: &'static str,
}

impl<'s> Start<'s> {
    /// That of a publisher or camera gateway.
    pub(super) fn of(
        settings: &'s Settings,
        publisher: &'s Publisher,
        admission: &'s Admission,
        typed: &'static str,
    ) -> Result<Self> {
        let configured = &settings.config.publish;
        let terms = peers::invite_terms(settings)?;
        Ok(Self {
            admission,
            terms: (configured.invite && !configured.open).then_some(terms),
            file: configured.ticket_file.as_deref(),
            folder: publisher.folder(),
            typed,
        })
    }

    /// Print the tickets for these ways, each with an invite of its own, so that each admits somebody. This is the last
    /// of a start that may fail: its invites are kept before anybody has them, and taken back if nobody gets them.
    /// Returns the socket for commands, which can invite others now.
    pub(super) fn hand_out(&self, ways: Arc<Ways>, control: Option<ControlSocket>) -> Result<Option<ControlSocket>> {
        let mut tickets = ways.tickets()?;
        let invites = match self.terms {
            Some(terms) => self.admission.invites_of_start(&tickets, terms)?,
            None => Vec::new(),
        };
        for (ticket, invite) in tickets.iter_mut().zip(&invites) {
            ticket.invite = invite.as_ref().map(|live| live.invite.clone());
        }
        let kept = self.admission.keep(invites.into_iter().flatten());
        if !tickets.is_empty() {
            let secret = tickets.iter().any(|ticket| ticket.invite.is_some());
            let lines = tickets.iter().map(|ticket| line(ticket, ways.role()).into());
            let handed_out = hand_out_tickets(&lines.collect::<Vec<_>>(), self.typed, secret, self.file);
            handed_out.inspect_err(|_| self.admission.take_back(kept))?;
        }
        if let Some(folder) = self.folder {
            ways.remember(folder);
        }
        Ok(control.map(|socket| socket.inviting(ways)))
    }
}

/// Print tickets and links to pages, a line each, or write them to a file that only its owner can read. On a terminal
/// they are the lines that the other end types, which begin with `typed`. Where standard output is no terminal it may
/// end in a log that others read, so what is secret is printed there only if the user asks for it.
pub(super) fn hand_out_tickets(
    lines: &[Zeroizing<String>],
    typed: &str,
    secret: bool,
    file: Option<&Path>,
) -> Result<()> {
    let text = match file {
        None if std::io::stdout().is_terminal() => to_give_away(lines, typed),
        _ => lines.iter().map(|line| line.to_string() + "\n").collect(),
    };
    hand_out_lines(text, secret, file)
}

/// The tickets as lines for people: one is enough, and it says what to do with it.
fn to_give_away(lines: &[Zeroizing<String>], typed: &str) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let (line, ticket) = (line.as_str(), line.parse::<Ticket>());
        let way = match (ticket, at) {
            (Ok(_), 0) => format!("Give this line to the other side, to type there:\n\n  {typed} '{line}'\n"),
            (Ok(ticket), _) => format!(
                "Or this line, over {}:\n\n  {typed} '{line}'\n",
                ticket.transport.name()
            ),
            (Err(_), 0) => format!("Give this link to the other side, to open in a browser:\n\n  {line}\n"),
            (Err(_), _) => format!("Or this link, to open in a browser:\n\n  {line}\n"),
        };
        text.push_str(&format!("\n{way}"));
    }
    text + "\n"
}

/// Print lines, or write them to a file that only its owner can read. Where standard output is no terminal it may end
/// in a log that others read, so what is secret is printed there only if the user asks for it.
pub(super) fn hand_out_lines(lines: String, secret: bool, file: Option<&Path>) -> Result<()> {
    let lines = Zeroizing::new(lines);
    match file {
        Some(path) if path != Path::new(STDOUT) => write_lines(path, &lines)?,
        None if secret && !std::io::stdout().is_terminal() => tracing::warn!(
            "the ticket has a secret and is not printed, because standard output is no terminal: \
             --ticket-file FILE writes it to a new file, --ticket-file - prints it, and so does `sealcast invite` in a \
             terminal"
        ),
        _ => output::write(&lines).map_err(|error| {
            let what = format!("the ticket cannot be written to standard output ({error})");
            Failure::new(FailureKind::Sink, what, "write it to a file: --ticket-file FILE")
        })?,
    }
    Ok(())
}

/// Writes lines to a new file, or in place of one that holds nothing but older tickets of the same peer: those that a
/// program wrote there at an earlier start. Anything else is left as it is.
fn write_lines(path: &Path, lines: &str) -> Result<()> {
    // One that others may write, or that is no file, is not looked at.
    let there = read_private(path, MAX_FILE).ok().flatten();
    let there = there.as_deref().map(|bytes| String::from_utf8_lossy(bytes));
    let peer = lines.lines().find_map(peer_of);
    match there {
        Some(there) if there == lines => tracing::info!(file = %path.display(), "the ticket is in its file already"),
        Some(there) if peer.is_some_and(|peer| are_of(&there, peer)) => {
            replace_secret(path, lines.as_bytes()).map_err(|error| {
                let what = format!("{} cannot be written ({error})", path.display());
                Failure::new(
                    FailureKind::Keys,
                    what,
                    "choose a place that has room and may be written to",
                )
            })?;
            tracing::info!(file = %path.display(), "the ticket is written in place of an older one of this peer");
        }
        _ => {
            write_secret(path, lines.as_bytes())?;
            tracing::info!(file = %path.display(), "the ticket is written");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
    fn a_file_of_older_tickets_of_the_same_peer_is_replaced_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ticket");
        let line = |host: &str, peer: char, invite: char| {
            let long = |letter: char, count| letter.to_string().repeat(count) + "a";
            let (peer, invite) = (long(peer, 51), long(invite, 25));
            format!("sealcast://{host}:9553/{peer}#{invite}\n")
        };
        let new = line("192.0.2.7", 'b', 'b');
        let link = ticket("https").reveal_page_link().expect("a link").to_string() + "\n";
        let (old, moved) = (line("192.0.2.7", 'b', 'a'), line("192.0.2.8", 'b', 'a'));
        let other = line("192.0.2.7", 'c', 'a');
        for (there, mode, taken) in [
            (None, 0o600, true),
            (Some(new.clone()), 0o600, true),
            (Some(old.clone()), 0o600, true),
            (Some(moved + &link), 0o600, true),
            (Some(old.clone()), 0o644, false),
            (Some(other.clone()), 0o600, false),
            (Some(old.clone() + &other), 0o600, false),
            (Some(old + "a note\n"), 0o600, false),
            (Some(String::new()), 0o600, false),
            (Some("hunter2\n".to_owned()), 0o600, false),
        ] {
            let _ = std::fs::remove_file(&file);
            if let Some(text) = &there {
                std::fs::write(&file, text).expect("written");
                std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("ours");
            }
            let written = write_lines(&file, &new);
            let now = std::fs::read_to_string(&file).expect("it is there");
            match taken {
                true => assert!(written.is_ok() && now == new, "{there:?}: {written:?}"),
                false => {
                    let failure = written.expect_err("refused");
                    assert!(failure.kind == FailureKind::Keys && Some(now) == there, "{failure}");
                }
            }
        }
    }

    #[test]
    fn a_person_gets_the_line_that_the_other_side_types_and_the_link_that_it_opens() {
        let (own, page) = (ticket("udp"), ticket("https"));
        let of = |tickets: &[&Ticket], role| -> Vec<Zeroizing<String>> {
            tickets.iter().map(|ticket| line(ticket, role).into()).collect()
        };
        let shown = to_give_away(&of(&[&own, &page], Role::Publisher), TO_WATCH);
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
        let shown = to_give_away(&of(&[&page], Role::Viewer), TO_PUBLISH);
        assert!(
            shown.contains("Give this link") && shown.contains("/?publish#sealcast://"),
            "{shown}"
        );
        let shown = to_give_away(&of(&[&own, &own], Role::Publisher), TO_SERVE_PLAYERS);
        assert!(
            shown.contains("  sealcast gateway viewer --peer 'sealcast://"),
            "{shown}"
        );
        assert!(shown.contains("Or this line, over udp:"), "{shown}");
    }
}
