//! What the connecting end keeps: for each listening end that enrolled it, the secret of later handshakes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sealcast_proto::keys::{PeerId, PresharedKey, PskName};
use sealcast_proto::wire::Ticket;
use zeroize::Zeroizing;

use super::lines;
use crate::private_file::{self, read_secret};

/// Maximum number of listening ends whose secrets are kept. One more removes the oldest.
const MAX_KNOWN: usize = 1024;
/// Maximum number of enrolments kept for one peer id: several publishers and gateways may share an identity. One more
/// removes the oldest.
const MAX_KEPT: usize = 8;

/// The directory of kept secrets: a file for each peer id, with a line for each invite that enrolled this end:
///
/// ```text
/// INVITE SECRET ADDRESS
/// ```
#[derive(Clone, Default)]
pub struct KnownPeers {
    dir: Option<PathBuf>,
}

/// The listening end of a ticket, as far as it is known here.
pub struct KnownEnd {
    known: KnownPeers,
    peer: PeerId,
    address: String,
    proves: Proves,
}

/// What this end proves to the listening one.
enum Proves {
    Nothing,
    /// An invite. The secret of the handshake is to be kept.
    Invite(PskName),
    /// The secret kept from an enrolment.
    Kept,
}

/// A line of a file.
struct Kept {
    invite: PskName,
    secret: PresharedKey,
    address: String,
}

impl KnownPeers {
    /// Keeps nothing.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// Keeps secrets in this directory, which is made when the first one is kept.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir: Some(dir) }
    }

    /// The end of a ticket, and the pre-shared key to prove to it: the secret kept from the enrolment by the ticket's
    /// invite, or else the invite. Without an invite, the secret kept from an enrolment at the ticket's address; at
    /// another address the same peer may have other lists.
    pub fn end_of(&self, ticket: &Ticket) -> (Option<PresharedKey>, KnownEnd) {
        let address = format!("{}://{}:{}", ticket.transport.name(), ticket.host, ticket.port);
        let invite = ticket.invite.as_ref().map(PresharedKey::from_invite);
        let name = invite.as_ref().map(PresharedKey::name);
        let mut newest_first = self.read(&ticket.peer).into_iter().rev();
        let kept = newest_first.find(|kept| match name {
            Some(name) => kept.invite == name,
            None => kept.address == address,
        });
        let (psk, proves) = match (kept, name) {
            (Some(kept), _) => (Some(kept.secret), Proves::Kept),
            (None, Some(name)) => (invite, Proves::Invite(name)),
            (None, None) => (None, Proves::Nothing),
        };
        let end = KnownEnd {
            known: self.clone(),
            peer: ticket.peer,
            address,
            proves,
        };
        (psk, end)
    }

    /// What is kept for a peer, oldest first. What cannot be read is left out with a warning.
    fn read(&self, peer: &PeerId) -> Vec<Kept> {
        let path = self.dir.as_ref().map(|dir| dir.join(peer.to_string()));
        let Some(path) = path.filter(|path| path.exists()) else {
            return Vec::new();
        };
        let text = match read_secret(&path) {
            Ok(text) => text,
            Err(failure) => {
                tracing::warn!("{failure}");
                return Vec::new();
            }
        };
        let kept: Vec<Kept> = text.lines().filter_map(parse).take(MAX_KEPT).collect();
        if kept.len() < text.lines().count() {
            tracing::warn!(file = %path.display(), "lines without a kept secret, or too many, are left out");
        }
        kept
    }
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
        matches!(self.proves, Proves::Kept)
    }

    /// Keep the secret of the handshake, in place of earlier ones for the same address: the other end has replaced its
    /// own. If that is impossible, this is logged, and the next connection proves the invite again.
    pub fn keep(&mut self, secret: &PresharedKey) {
        let Proves::Invite(invite) = self.proves else { return };
        let mut kept = self.known.read(&self.peer);
        kept.retain(|earlier| earlier.invite != invite);
        for earlier in kept.iter_mut().filter(|earlier| earlier.address == self.address) {
            earlier.secret = secret.clone();
        }
        kept.push(Kept {
            invite,
            secret: secret.clone(),
            address: self.address.clone(),
        });
        let excess = kept.len().saturating_sub(MAX_KEPT);
        self.write(&kept[excess..]);
        self.proves = Proves::Kept;
    }

    /// The other end has refused this one in words: forget the secret that both have kept.
    pub fn forget(&self) {
        if let Proves::Kept = self.proves {
            let mut kept = self.known.read(&self.peer);
            kept.retain(|kept| kept.address != self.address);
            self.write(&kept);
        }
    }

    fn write(&self, kept: &[Kept]) {
        let Some(dir) = &self.known.dir else { return };
        let path = dir.join(self.peer.to_string());
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
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use sealcast_proto::keys::Invite;
    use sealcast_proto::wire::{Host, TransportKind};

    use super::*;

    /// A ticket of one peer, whose ends listen at several ports.
    fn ticket(port: u16, invite: Option<u8>) -> Ticket {
        Ticket {
            host: Host::Name("camera.example".to_owned()),
            port,
            peer: PeerId([7; 32]),
            transport: TransportKind::Tcp,
            latency: None,
            cert_hashes: Vec::new(),
            broadcast: None,
            invite: invite.map(|byte| Invite::new([byte; 16])),
        }
    }

    /// Name of what is proved to the end of a ticket.
    fn proved(known: &KnownPeers, port: u16, invite: Option<u8>) -> Option<PskName> {
        known.end_of(&ticket(port, invite)).0.map(|psk| psk.name())
    }

    fn keep(known: &KnownPeers, port: u16, invite: u8, secret: u8) -> Option<PskName> {
        let secret = PresharedKey::new([secret; 32]);
        known.end_of(&ticket(port, Some(invite))).1.keep(&secret);
        Some(secret.name())
    }

    fn named(byte: u8) -> Option<PskName> {
        Some(PresharedKey::from_invite(&Invite::new([byte; 16])).name())
    }

    #[test]
    fn a_kept_secret_takes_the_place_of_its_invite_and_yields_to_a_new_one() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let known = KnownPeers::at(home.path().join("known"));
        assert_eq!(proved(&known, 1, None), None);
        assert_eq!(proved(&known, 1, Some(1)), named(1));
        let kept = keep(&known, 1, 1, 9);
        assert!(!known.end_of(&ticket(1, Some(1))).1.enrols());
        assert_eq!(proved(&known, 1, Some(1)), kept);
        assert_eq!(proved(&known, 2, Some(1)), kept, "the same lists by another way");
        assert_eq!(proved(&known, 1, None), kept);
        assert_eq!(proved(&known, 1, Some(2)), named(2));
        let newer = keep(&known, 1, 2, 10);
        for invite in [None, Some(1), Some(2)] {
            assert_eq!(proved(&known, 1, invite), newer, "the other end has replaced the first");
        }
        let file = home.path().join("known").join(PeerId([7; 32]).to_string());
        let mode = fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&file, "nonsense").expect("written");
        assert_eq!(proved(&known, 1, Some(1)), named(1), "it is never fatal");
        keep(&KnownPeers::nowhere(), 1, 1, 9);
        assert_eq!(proved(&KnownPeers::nowhere(), 1, Some(1)), named(1));
    }

    #[test]
    fn ends_that_share_an_identity_are_kept_apart_up_to_a_bound() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let known = KnownPeers::at(home.path().to_owned());
        let kept: Vec<_> = (0..=MAX_KEPT as u8)
            .map(|end| keep(&known, end.into(), end, 100 + end))
            .collect();
        for (end, kept) in (0_u8..).zip(kept).skip(1) {
            assert_eq!(proved(&known, end.into(), None), kept);
            assert_eq!(proved(&known, end.into(), Some(end)), kept);
        }
        assert_eq!(proved(&known, 0, None), None, "the oldest is gone");
        assert_eq!(
            proved(&known, 1000, None),
            None,
            "nothing is shown to an end that did not enrol us"
        );
    }

    #[test]
    fn a_secret_that_was_refused_is_forgotten_and_no_other() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let known = KnownPeers::at(home.path().to_owned());
        keep(&known, 1, 1, 9);
        let other = keep(&known, 2, 2, 10);
        known.end_of(&ticket(1, Some(3))).1.forget();
        assert!(proved(&known, 1, None).is_some(), "only an invite was shown");
        known.end_of(&ticket(1, None)).1.forget();
        assert_eq!(proved(&known, 1, None), None);
        assert_eq!(proved(&known, 2, None), other);
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = |number: usize| {
            let mut id = [7; 32];
            id[..8].copy_from_slice(&number.to_be_bytes());
            home.path().join(PeerId(id).to_string())
        };
        for number in 0..MAX_KNOWN + 2 {
            let made = File::create(file(number)).expect("made");
            let age = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
            made.set_modified(age).expect("our own file");
        }
        fs::write(home.path().join("notes"), "not ours").expect("written");
        forget_oldest(home.path());
        let there: Vec<bool> = (0..4).map(|number| file(number).exists()).collect();
        assert_eq!(there, [false, false, true, true]);
        assert!(home.path().join("notes").exists());
    }
}
