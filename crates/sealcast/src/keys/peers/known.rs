//! What the connecting end keeps: for each listening end that enrolled it, the secret of later handshakes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sealcast_proto::keys::{PeerId, PresharedKey, PskName};
use sealcast_proto::wire::Ticket;
use zeroize::Zeroizing;

use super::lines;
use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::{self, read_secret};

/// Maximum number of listening ends whose secrets are kept. One more removes the oldest.
const MAX_KNOWN: usize = 1024;

/// The directory of kept secrets: a file for each listening end, named after its peer id.
#[derive(Clone, Default)]
pub struct KnownPeers {
    dir: Option<PathBuf>,
}

/// A session's task to keep the secret of its handshake, in which it proved an invite.
pub struct Keeping {
    known: KnownPeers,
    peer: PeerId,
    invite: PskName,
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

    /// The pre-shared key to prove to the end of a ticket: the one kept from its enrolment, unless the ticket has an
    /// invite of another name than that enrolment's; then the invite.
    pub fn psk_for(&self, ticket: &Ticket) -> Option<PresharedKey> {
        let invite = ticket.invite.as_ref().map(PresharedKey::from_invite);
        match (self.kept(&ticket.peer), invite) {
            (Some((_, by)), Some(invite)) if invite.name() != by => Some(invite),
            (Some((secret, _)), _) => Some(secret),
            (None, invite) => invite,
        }
    }

    /// What to do once a session with the end of this ticket is established.
    pub fn keeping(&self, ticket: &Ticket, psk: &PresharedKey) -> Option<Keeping> {
        let invite = PresharedKey::from_invite(ticket.invite.as_ref()?).name();
        self.dir.as_ref().filter(|_| invite == psk.name())?;
        Some(Keeping {
            known: self.clone(),
            peer: ticket.peer,
            invite,
        })
    }

    /// The secret kept for a peer, and the name of the invite by which it enrolled this end.
    fn kept(&self, peer: &PeerId) -> Option<(PresharedKey, PskName)> {
        let path = self.dir.as_ref()?.join(peer.to_string());
        if !path.exists() {
            return None;
        }
        let kept = read_secret(&path).and_then(|text| {
            parse(&text).ok_or_else(|| {
                let what = format!("{} holds no kept secret", path.display());
                Failure::new(FailureKind::Keys, what, "remove it, and ask for a new ticket")
            })
        });
        match kept {
            Ok(kept) => Some(kept),
            Err(failure) => {
                tracing::warn!("{failure}");
                None
            }
        }
    }
}

fn parse(text: &str) -> Option<(PresharedKey, PskName)> {
    let (secret, invite) = text.trim_end().split_once(' ')?;
    Some((lines::parse_secret(secret)?, PskName::parse(invite)?))
}

impl Keeping {
    /// Keep the secret. If that is impossible, this is logged: the next connection then proves the invite again.
    pub fn keep(&self, secret: &PresharedKey) {
        let Some(dir) = &self.known.dir else { return };
        if let Err(failure) = self.write(dir, secret) {
            tracing::warn!("{failure}");
        }
    }

    fn write(&self, dir: &Path, secret: &PresharedKey) -> Result<()> {
        let path = dir.join(self.peer.to_string());
        let mut text = Zeroizing::new(String::with_capacity(128));
        text.push_str(&lines::secret_text(secret));
        text.push_str(&format!(" {}\n", self.invite));
        let made = private_file::create_folder(dir);
        let written = made.and_then(|()| private_file::replace_secret(&path, text.as_bytes()));
        written.map_err(|error| {
            let what = format!(
                "the secret of the enrolment cannot be kept in {} ({error})",
                path.display()
            );
            let hint = "keep the ticket: its invite is needed again; make the directory writable";
            Failure::new(FailureKind::Keys, what, hint)
        })?;
        forget_oldest(dir);
        Ok(())
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

    fn ticket(invite: Option<u8>) -> Ticket {
        Ticket {
            host: Host::Name("camera.example".to_owned()),
            port: 9553,
            peer: PeerId([7; 32]),
            transport: TransportKind::Tcp,
            latency: None,
            invite: invite.map(|byte| Invite::new([byte; 16])),
        }
    }

    fn name(psk: Option<PresharedKey>) -> Option<PskName> {
        psk.map(|psk| psk.name())
    }

    #[test]
    fn a_kept_secret_takes_the_place_of_its_invite_and_yields_to_a_new_one() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let known = KnownPeers::at(home.path().join("known"));
        let invite = |byte| Some(PresharedKey::from_invite(&Invite::new([byte; 16])).name());
        assert_eq!(name(known.psk_for(&ticket(None))), None);
        assert_eq!(name(known.psk_for(&ticket(Some(1)))), invite(1));
        let secret = PresharedKey::new([9; 32]);
        let first = PresharedKey::from_invite(&Invite::new([1; 16]));
        assert!(known.keeping(&ticket(None), &first).is_none(), "no invite was proved");
        let other = known.keeping(&ticket(Some(1)), &secret);
        assert!(other.is_none(), "another key was proved");
        known
            .keeping(&ticket(Some(1)), &first)
            .expect("an invite")
            .keep(&secret);
        let kept = Some(secret.name());
        assert_eq!(name(known.psk_for(&ticket(Some(1)))), kept);
        assert_eq!(name(known.psk_for(&ticket(None))), kept);
        assert_eq!(name(known.psk_for(&ticket(Some(2)))), invite(2));
        let file = home.path().join("known").join(PeerId([7; 32]).to_string());
        let mode = fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&file, "nonsense").expect("written");
        assert_eq!(name(known.psk_for(&ticket(Some(1)))), invite(1), "it is never fatal");
        assert!(KnownPeers::nowhere().keeping(&ticket(Some(1)), &first).is_none());
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = |number: usize| {
            let mut id = [0; 32];
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
