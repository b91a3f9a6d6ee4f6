//! The allow list: peers that are admitted without an invite.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sealcast_proto::keys::PeerId;

use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::read_list;

/// Maximum number of peers on a list.
const MAX_PEERS: usize = 10_000;

/// Admitted peers, and the file that stores them: one peer id per line, optionally followed by a comment.
#[derive(Default, PartialEq, Eq)]
pub struct AllowList {
    path: Option<PathBuf>,
    peers: BTreeSet<PeerId>,
    /// Enrolled peers that are in no file.
    unwritten: BTreeSet<PeerId>,
}

impl AllowList {
    /// An empty list without a file, lost at exit.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// A list of these peers, without a file.
    pub fn of(peers: impl IntoIterator<Item = PeerId>) -> Self {
        Self {
            peers: peers.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Reads the list from a file that must exist.
    ///
    /// # Errors
    /// The file cannot be read, or a line does not begin with a peer id.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_list(path).map_err(|error| unreadable(path, &error))?;
        Self::parse(&text, path)
    }

    /// Reads the list from a file; the list is empty if the file does not exist yet.
    ///
    /// # Errors
    /// The file cannot be read, or a line does not begin with a peer id.
    pub fn open(path: &Path) -> Result<Self> {
        match read_list(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::parse("", path),
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut peers = BTreeSet::new();
        for (number, line) in text.lines().enumerate() {
            let Some(first) = line.split_whitespace().next().filter(|word| !word.starts_with('#')) else {
                continue;
            };
            let peer = PeerId::parse(first)
                .filter(|_| peers.len() < MAX_PEERS)
                .ok_or_else(|| {
                    let (line, shown) = (number + 1, path.display());
                    let what = format!("line {line} of the allow list {shown} begins with no peer id");
                    Failure::new(
                        FailureKind::Keys,
                        what,
                        "write one peer id a line, as `sealcast keygen` prints it",
                    )
                })?;
            peers.insert(peer);
        }
        Ok(Self {
            path: Some(path.to_owned()),
            peers,
            ..Self::default()
        })
    }

    /// True if the peer is admitted.
    pub fn contains(&self, peer: &PeerId) -> bool {
        self.peers.contains(peer)
    }

    /// Take over the enrolled peers that are in no file from the list `before`, after the file was read again.
    pub fn keep_unwritten(&mut self, before: &Self) {
        self.unwritten.extend(&before.unwritten);
        self.peers.extend(&before.unwritten);
    }

    /// Admit an invited peer from now on, also after a restart.
    ///
    /// # Errors
    /// The file cannot be written; the peer is still admitted until exit.
    pub fn enrol(&mut self, peer: PeerId) -> Result<()> {
        if !self.peers.insert(peer) {
            return Ok(());
        }
        let Some(path) = &self.path else {
            self.unwritten.insert(peer);
            return Ok(());
        };
        if let Some(parent) = path.parent() {
            // If this fails, opening the file reports the error.
            let _ = fs::create_dir_all(parent);
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
        let written = file.and_then(|mut file| writeln!(file, "{peer} enrolled by invite {today}"));
        written.map_err(|error| {
            self.unwritten.insert(peer);
            let what = format!(
                "{} could not be enrolled in the allow list {} ({error})",
                peer.short(),
                path.display()
            );
            Failure::new(
                FailureKind::Keys,
                what,
                "it may watch until this program ends; make the file writable",
            )
        })
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let what = format!("the allow list {} cannot be read ({error})", path.display());
    Failure::new(FailureKind::Keys, what, "check its path and permissions")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enrolled_peer_is_remembered_after_a_restart() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("allow");
        let peer = PeerId([7; 32]);
        AllowList::open(&path).expect("empty").enrol(peer).expect("written");
        let list = AllowList::open(&path).expect("read again");
        assert!(list.contains(&peer));
        assert!(!list.contains(&PeerId([8; 32])));
    }

    #[test]
    fn a_line_that_is_no_peer_id_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("allow");
        fs::write(&path, "# friends\n\nnobody\n").expect("written");
        let error = AllowList::open(&path).err().expect("refused");
        assert!(error.what.contains("line 3"), "{error}");
    }
}
