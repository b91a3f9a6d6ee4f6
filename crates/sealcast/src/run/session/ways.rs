//! The ways to a listening end: what its tickets say, now and whenever somebody is invited while it runs.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Invite, Role};
use sealcast_proto::wire::{Address, Host, MAX_ADDRESSES, Ticket, TransportKind};
use zeroize::Zeroizing;

use crate::failure::Result;
use crate::platform::addresses::is_for_others;
use crate::private_file::{read_private, replace_secret};

/// Interval at which the addresses are looked at.
pub(crate) const LOOK: Duration = Duration::from_secs(5);
/// Name of the file in an end's folder with the tickets of its last start, without invites.
const TICKETS: &str = "tickets";
/// Maximum length of that file in bytes.
const MAX_FILE: u64 = 16 * 1024;

/// Makes the ticket that leads to one listener, without an invite. What it says may change while a program runs: an
/// address of this machine, the certificate of a page.
pub type Way = Box<dyn Fn() -> Result<Ticket> + Send + Sync>;

/// All ways to a listening end.
pub struct Ways {
    role: Role,
    ways: Vec<Way>,
    /// The addresses at all ways, and when that was looked at.
    seen: Mutex<Option<(Instant, Arc<[Seen]>)>>,
}

/// The addresses at one way.
type Seen = (TransportKind, Vec<Address>);

impl Ways {
    /// Those of an end with this role.
    pub fn new(role: Role, ways: Vec<Way>) -> Self {
        Self {
            role,
            ways,
            seen: Mutex::default(),
        }
    }

    /// The role of this end.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The tickets, without invites.
    ///
    /// # Errors
    /// One cannot be made.
    pub fn tickets(&self) -> Result<Vec<Ticket>> {
        self.ways.iter().map(|way| way()).collect()
    }

    /// The addresses of this end for these transports, at most [`MAX_ADDRESSES`], none of which means another machine
    /// to others. They may be a little old.
    pub(crate) fn addresses(&self, transports: &[TransportKind], now: Instant) -> Vec<Address> {
        let mut addresses = Vec::new();
        for (kind, there) in self.seen(now).iter() {
            let there = there.iter().filter(|_| transports.contains(kind));
            addresses.extend(there.filter(|address| may_be_told(address)).cloned());
        }
        addresses.truncate(MAX_ADDRESSES);
        addresses
    }

    fn seen(&self, now: Instant) -> Arc<[Seen]> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match &*seen {
            Some((at, seen)) if now.saturating_duration_since(*at) < LOOK => Arc::clone(seen),
            _ => {
                let tickets = self.tickets().unwrap_or_default();
                let looked = tickets
                    .iter()
                    .map(|ticket| (ticket.transport, ticket.addresses().collect()));
                let looked: Arc<[Seen]> = looked.collect();
                *seen = Some((now, Arc::clone(&looked)));
                looked
            }
        }
    }

    /// Write down where this end listens, for invites that are made while it does not run.
    pub fn remember(&self, folder: &Path) {
        let written = self.tickets().map(|tickets| {
            let lines: String = tickets.iter().map(|ticket| ticket.reveal() + "\n").collect();
            replace_secret(&folder.join(TICKETS), lines.as_bytes())
        });
        if let Ok(Err(error)) = written {
            tracing::debug!(%error, "`sealcast invite` will know no address while this does not run");
        }
    }
}

/// True for an address that another machine can use, as far as it tells.
fn may_be_told(address: &Address) -> bool {
    match &address.host {
        Host::V4(ip) => is_for_others((*ip).into()),
        Host::V6(ip) => is_for_others((*ip).into()),
        Host::Name(name) => name != "localhost",
    }
}

/// The tickets of the last start of the end with this folder, without invites; nothing if there was none.
pub fn remembered(folder: &Path) -> Vec<Ticket> {
    let text = read_private(&folder.join(TICKETS), MAX_FILE)
        .ok()
        .flatten()
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// The tickets as they are handed on, each with this invite: all lead to the same end, and who uses one uses the
/// invite.
pub fn with_invite(mut tickets: Vec<Ticket>, role: Role, invite: &Invite) -> Vec<Zeroizing<String>> {
    tickets
        .iter_mut()
        .for_each(|ticket| ticket.invite = Some(invite.clone()));
    tickets
        .iter()
        .map(|ticket| Zeroizing::new(line(ticket, role)))
        .collect()
}

/// A ticket of an end with this role as it is handed on. One for browsers is the link to its page, which does the
/// opposite.
pub fn line(ticket: &Ticket, role: Role) -> String {
    match (ticket.reveal_page_link(), role) {
        (Some(link), Role::Viewer) => link.replacen('#', "?publish#", 1),
        (Some(link), Role::Publisher) => link,
        (None, _) => ticket.reveal(),
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::keys::PeerId;

    use super::*;

    fn tickets() -> [Ticket; 2] {
        let id = PeerId([7; 32]);
        let texts = [
            format!("sealcast://192.0.2.7:9553/{id}"),
            format!("sealcast://camera.example:9443/{id}?transport=https"),
        ];
        texts.map(|text| text.parse().expect("a ticket"))
    }

    #[test]
    fn what_is_handed_on_is_a_ticket_or_a_link_with_the_invite() {
        let invite = Invite::new([3; 16]);
        let secret = invite.reveal();
        let [ticket, link] = tickets();
        for (role, page) in [(Role::Publisher, "/#"), (Role::Viewer, "/?publish#")] {
            let lines = with_invite(tickets().into(), role, &invite);
            assert_eq!(*lines[0], format!("{}#{secret}", ticket.reveal()));
            let expected = format!("https://camera.example:9443{page}{}%23{secret}", link.reveal());
            assert_eq!(*lines[1], expected);
        }
    }

    #[test]
    fn where_an_end_listened_is_known_while_it_does_not_run() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(remembered(folder.path()).is_empty());
        let ways = tickets().map(|ticket| Box::new(move || Ok(ticket.clone())) as Way);
        Ways::new(Role::Publisher, ways.into()).remember(folder.path());
        assert!(remembered(folder.path()) == tickets());
        std::fs::write(folder.path().join(TICKETS), "nothing\n").expect("written");
        assert!(remembered(folder.path()).is_empty());
    }
}
