//! Secrets of the connecting end: for each listening end that enrolled it, that of later handshakes, and where it told
//! that it can be reached.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sealcast_proto::keys::{PeerId, PresharedKey, PskName};
use sealcast_proto::wire::{Address, MAX_ADDRESSES, Ticket, TransportKind};
use zeroize::Zeroizing;

use super::lines;
use crate::file_lock::FileLock;
use crate::keys::claim;
use crate::private_file::{self, MAX_SECRET_FILE, read_secret};

/// Maximum number of listening ends whose secrets are kept. One more removes the oldest.
const MAX_KNOWN: usize = 1024;
/// Maximum number of invites noted for one peer id. One more removes the oldest.
const MAX_KEPT: usize = 8;
/// The first word of a line with an address that the peer told.
const TOLD: &str = "addr";
/// Maximum number of such lines for one peer id: each transport has its own port.
const MAX_TOLD: usize = 4 * MAX_ADDRESSES;

/// Secrets that an account keeps of the enrolments of one of its identities: `known/OWN-ID` has a file for each peer
/// id, with a line for each invite that enrolled this identity there, the last one at the end:
///
/// ```text
/// INVITE SECRET ADDRESS
/// addr TRANSPORT://ADDRESS
/// ```
///
/// A listening end keeps one secret for each peer, that of its last enrolment, so all lines have the same. The address
/// is where the peer was found then, for the user: it decides nothing. The lines after them, at most four for each
/// transport, are where it told that it can be reached by that.
#[derive(Clone, Default)]
pub struct KnownPeers {
    /// `known/OWN-ID`.
    dir: Option<PathBuf>,
}

/// The listening end of a ticket, as far as it is known here.
pub struct KnownEnd {
    known: KnownPeers,
    peer: PeerId,
    transport: TransportKind,
    address: String,
    proves: Proves,
    /// Held until the enrolment is kept, or the attempt is over.
    turn: Option<FileLock>,
}

/// Proof of this end to the listening one.
enum Proves {
    Nothing,
    /// An invite. The secret of the handshake is to be kept.
    Invite(PskName),
    /// The secret kept from an enrolment, with its name.
    Kept(PskName),
}

/// A line of a file.
struct Kept {
    invite: PskName,
    secret: PresharedKey,
    address: String,
}

/// An address that a peer told in a session over this transport.
#[derive(Clone, PartialEq, Eq)]
struct Told {
    transport: String,
    address: Address,
}

/// Turn to be enrolled at a peer, of several programs with one identity and one ticket.
pub enum Turn {
    /// Nobody's: nothing is to be enrolled, or no lock can be had.
    Unneeded,
    /// This one's, as long as the lock is held.
    Own(FileLock),
    /// Another program's.
    Others,
}

impl KnownPeers {
    /// Keeps nothing.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// Keeps the secrets of this identity beneath this directory of an account. What earlier versions kept there, for
    /// all identities together, is copied for each when it comes first: it does not say whose it is.
    pub fn at(account: &Path, own: &PeerId) -> Self {
        let dir = account.join(own.to_string());
        if !dir.exists()
            && let Err(error) = take_over(account, &dir)
        {
            tracing::warn!(
                folder = %account.display(),
                "enrolments that an earlier version kept cannot be taken over ({error}): new tickets are needed"
            );
        }
        Self { dir: Some(dir) }
    }

    /// The end of a ticket, and the pre-shared key to prove to it: the secret kept from the enrolment by the ticket's
    /// invite, or else the invite. Without an invite, the secret kept from the last enrolment.
    pub fn end_of(&self, ticket: &Ticket) -> (Option<PresharedKey>, KnownEnd) {
        let invite = ticket.invite.as_ref().map(PresharedKey::from_invite);
        let name = invite.as_ref().map(PresharedKey::name);
        let mut newest_first = self.read(&ticket.peer).0.into_iter().rev();
        let kept = newest_first.find(|kept| name.is_none_or(|name| kept.invite == name));
        let (psk, proves) = match (kept, name) {
            (Some(kept), _) => {
                let name = kept.secret.name();
                (Some(kept.secret), Proves::Kept(name))
            }
            (None, Some(name)) => (invite, Proves::Invite(name)),
            (None, None) => (None, Proves::Nothing),
        };
        let end = KnownEnd {
            known: self.clone(),
            peer: ticket.peer,
            transport: ticket.transport,
            address: format!("{}://{}:{}", ticket.transport.name(), ticket.host, ticket.port),
            proves,
            turn: None,
        };
        (psk, end)
    }

    /// Whether this program may prove the invite of a ticket now. Of several that did at once, the listening end would
    /// keep the secret of one and this account perhaps that of another.
    pub fn turn(&self, ticket: &Ticket) -> Turn {
        let Some(dir) = self.dir.as_ref().filter(|_| self.end_of(ticket).1.enrols()) else {
            return Turn::Unneeded;
        };
        let file = dir.join(format!(".{}", ticket.peer));
        let locked = private_file::create_folder(dir).and_then(|()| claim::lock(&file, Duration::ZERO));
        match locked {
            // Another one may have been enrolled just before.
            Ok(file) if self.end_of(ticket).1.enrols() => Turn::Own(file),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Turn::Others,
            _ => Turn::Unneeded,
        }
    }

    /// Another identity of this account that the invite of a ticket has enrolled.
    pub fn enrolled_instead(&self, ticket: &Ticket) -> Option<PeerId> {
        let name = PresharedKey::from_invite(ticket.invite.as_ref()?).name();
        let own = self.dir.as_ref()?;
        let others = fs::read_dir(own.parent()?).ok()?.flatten().map(|entry| entry.path());
        others.filter(|dir| dir != own && dir.is_dir()).find_map(|dir| {
            let id = PeerId::parse(dir.file_name()?.to_str()?)?;
            let (kept, _) = Self { dir: Some(dir) }.read(&ticket.peer);
            kept.iter().any(|kept| kept.invite == name).then_some(id)
        })
    }

    /// Secrets that are kept for a peer, oldest first, and addresses that it told. What cannot be read is left out with
    /// a warning.
    fn read(&self, peer: &PeerId) -> (Vec<Kept>, Vec<Told>) {
        let path = self.dir.as_ref().map(|dir| dir.join(peer.to_string()));
        let Some(path) = path.filter(|path| path.exists()) else {
            return Default::default();
        };
        let text = match read_secret(&path) {
            Ok(text) => text,
            Err(failure) => {
                tracing::warn!("{failure}");
                return Default::default();
            }
        };
        let kept: Vec<Kept> = text.lines().filter_map(parse).take(MAX_KEPT).collect();
        let told: Vec<Told> = text.lines().filter_map(parse_told).take(MAX_TOLD).collect();
        if kept.len() + told.len() < text.lines().count() {
            tracing::warn!(file = %path.display(), "lines without a kept secret, or too many, are left out");
        }
        (kept, told)
    }

    /// The addresses that the end of a ticket told over its transport, where it has enrolled this one.
    pub fn told(&self, ticket: &Ticket) -> Vec<Address> {
        let (_, told) = self.read(&ticket.peer);
        let same = told
            .into_iter()
            .filter(|told| told.transport == ticket.transport.name());
        same.map(|told| told.address).take(MAX_ADDRESSES).collect()
    }

    /// Keep these addresses of a peer, over this transport, in place of those that are kept: a restart shall not forget
    /// where it went. Nothing is kept of a peer that has not enrolled this one.
    pub fn keep_told(&self, peer: &PeerId, transport: TransportKind, addresses: &[Address]) {
        let Some(dir) = &self.dir else { return };
        // Whoever is enrolled at this moment writes the file, and will be told again.
        let Ok(_lock) = claim::lock(&dir.join(format!(".{peer}")), Duration::ZERO) else {
            return;
        };
        let (kept, before) = self.read(peer);
        let others = before.iter().filter(|told| told.transport != transport.name()).cloned();
        let new = addresses.iter().take(MAX_ADDRESSES).map(|address| Told {
            transport: transport.name().to_owned(),
            address: address.clone(),
        });
        let told: Vec<Told> = others.chain(new).take(MAX_TOLD).collect();
        if !kept.is_empty() && told != before {
            self.write(peer, &kept, &told);
        }
    }

    fn write(&self, peer: &PeerId, kept: &[Kept], told: &[Told]) {
        let Some(dir) = &self.dir else { return };
        let path = dir.join(peer.to_string());
        let mut text = Zeroizing::new(String::with_capacity(4096));
        for Kept {
            invite,
            secret,
            address,
        } in kept
        {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "{invite} {} {address}", lines::secret_text(secret).as_str());
        }
        // Who is not enrolled any more is told nothing.
        for Told { transport, address } in told.iter().filter(|_| !kept.is_empty()) {
            let line = format!("{TOLD} {transport}://{address}\n");
            // A longer file would not be read again, and the peer chooses the names.
            if (text.len() + line.len()) as u64 <= MAX_SECRET_FILE {
                text.push_str(&line);
            }
        }
        let made = private_file::create_folder(dir);
        match made.and_then(|()| private_file::replace_secret(&path, text.as_bytes())) {
            Ok(()) => forget_oldest(dir),
            Err(error) => tracing::warn!(
                file = %path.display(),
                "the secret of the enrolment cannot be kept ({error}): keep the ticket, its invite is needed again"
            ),
        }
    }
}

fn parse_told(line: &str) -> Option<Told> {
    let (transport, address) = line.strip_prefix(TOLD)?.strip_prefix(' ')?.split_once("://")?;
    Some(Told {
        transport: transport.to_owned(),
        address: address.parse().ok()?,
    })
}

fn parse(line: &str) -> Option<Kept> {
    let mut words = line.split(' ');
    let kept = Kept {
        invite: PskName::parse(words.next()?)?,
        secret: lines::parse_secret(words.next()?)?,
        address: words.next()?.to_owned(),
    };
    words.next().is_none().then_some(kept)
}

impl KnownEnd {
    /// True if the secret of the handshake is to be kept once the session is established.
    pub fn enrols(&self) -> bool {
        matches!(self.proves, Proves::Invite(_))
    }

    /// True if the other end has enrolled this one.
    pub fn is_enrolled(&self) -> bool {
        matches!(self.proves, Proves::Kept(_))
    }

    /// The name of what is proved.
    pub fn proved(&self) -> Option<PskName> {
        match self.proves {
            Proves::Nothing => None,
            Proves::Invite(name) | Proves::Kept(name) => Some(name),
        }
    }

    /// Nobody else with this identity is enrolled at the same end until this is over.
    pub fn hold(&mut self, turn: Option<FileLock>) {
        self.turn = turn;
    }

    /// Keep the secret of the handshake, in place of earlier ones: the other end has replaced its own. If that is
    /// impossible, this is logged, and the next connection proves the invite again.
    pub fn keep(&mut self, secret: &PresharedKey) {
        let Proves::Invite(invite) = self.proves else { return };
        let (mut kept, told) = self.known.read(&self.peer);
        kept.retain(|earlier| earlier.invite != invite);
        for earlier in &mut kept {
            earlier.secret = secret.clone();
        }
        kept.push(Kept {
            invite,
            secret: secret.clone(),
            address: self.address.clone(),
        });
        let excess = kept.len().saturating_sub(MAX_KEPT);
        self.known.write(&self.peer, &kept[excess..], &told);
        self.proves = Proves::Kept(secret.name());
        self.turn = None;
    }

    /// The other end has refused this one in words: forget the secret that was proved.
    pub fn forget(&self) {
        if let Proves::Kept(name) = self.proves {
            let (mut kept, told) = self.known.read(&self.peer);
            kept.retain(|kept| kept.secret.name() != name);
            self.known.write(&self.peer, &kept, &told);
        }
    }

    /// The other end told where it can be reached: keep that.
    pub fn told(&self, addresses: &[Address]) {
        self.known.keep_told(&self.peer, self.transport, addresses);
    }
}

/// Copies what an account kept for all its identities, in one step: whoever is killed before it, or comes at once,
/// repeats it or finds it done.
fn take_over(account: &Path, dir: &Path) -> io::Result<()> {
    let entries = fs::read_dir(account).into_iter().flatten().flatten();
    let former: Vec<_> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| PeerId::parse(entry.file_name().to_str()?).map(|_| (entry.file_name(), entry.path())))
        .collect();
    if former.is_empty() {
        return Ok(());
    }
    let copies = tempfile::Builder::new().prefix(".sealcast").tempdir_in(account)?;
    for (name, path) in &former {
        fs::copy(path, copies.path().join(name))?;
    }
    match fs::rename(copies.path(), dir) {
        Err(_) if dir.exists() => Ok(()),
        renamed => renamed,
    }
}

/// Remove the oldest files beyond the bound. What cannot be looked at or removed stays.
fn forget_oldest(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let kept = entries.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| PeerId::parse(name).is_some())
    });
    let age = |entry: &fs::DirEntry| entry.metadata().and_then(|metadata| metadata.modified());
    let mut kept: Vec<(SystemTime, PathBuf)> = kept
        .map(|entry| (age(&entry).unwrap_or(SystemTime::UNIX_EPOCH), entry.path()))
        .collect();
    kept.sort();
    let excess = kept.len().saturating_sub(MAX_KNOWN);
    for (_, path) in &kept[..excess] {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
