//! The allow list: peers that its user admits by their ids. The program never writes to it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sealcast_proto::keys::PeerId;

use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::read_list;

/// Maximum number of peers on a list. The rest of a longer one is left out.
const MAX_PEERS: usize = 10_000;

/// Peers that a user admits, one peer id per line, optionally followed by a comment.
#[derive(Default)]
pub struct AllowList {
    path: Option<PathBuf>,
    /// The peers, with their lines in the file; line 0 without a file.
    peers: BTreeMap<PeerId, usize>,
}

impl PartialEq for AllowList {
    /// Lists that admit the same peers are equal.
    fn eq(&self, other: &Self) -> bool {
        self.peers.keys().eq(other.peers.keys())
    }
}

impl AllowList {
    /// A list that admits nobody.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A list of these peers, without a file.
    pub fn of(peers: impl IntoIterator<Item = PeerId>) -> Self {
        Self {
            path: None,
            peers: peers.into_iter().map(|peer| (peer, 0)).collect(),
        }
    }

    /// Reads the list from a file that must exist. If it has too many lines, the rest is left out and this is logged.
    ///
    /// # Errors
    /// The file cannot be read, or a line does not begin with a peer id.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_list(path).map_err(|error| unreadable(path, &error))?;
        Self::parse(&text, path)
    }

    /// Reads the list from a file as [`read`](Self::read); the list is empty if the file does not exist yet.
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
        let mut peers = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let Some(first) = line.split_whitespace().next().filter(|word| !word.starts_with('#')) else {
                continue;
            };
            if peers.len() == MAX_PEERS {
                let (file, line) = (path.display(), number + 1);
                tracing::error!(%file, line, "an allow list has at most {MAX_PEERS} peers: the rest is left out");
                break;
            }
            let peer = PeerId::parse(first).ok_or_else(|| {
                let (line, shown) = (number + 1, path.display());
                let what = format!("line {line} of the allow list {shown} begins with no peer id");
                Failure::new(
                    FailureKind::Keys,
                    what,
                    "write one peer id a line, as `sealcast keygen` prints it",
                )
            })?;
            peers.entry(peer).or_insert(number + 1);
        }
        Ok(Self {
            path: Some(path.to_owned()),
            peers,
        })
    }

    /// True if the peer is admitted.
    pub fn contains(&self, peer: &PeerId) -> bool {
        self.peers.contains_key(peer)
    }

    /// The peers, each with its line.
    pub fn peers(&self) -> impl Iterator<Item = (&PeerId, usize)> {
        self.peers.iter().map(|(peer, line)| (peer, *line))
    }

    /// Number of peers.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// True if it admits nobody.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Place where the list names the peer, in words.
    pub fn place_of(&self, peer: &PeerId) -> Option<String> {
        let line = self.peers.get(peer)?;
        Some(match &self.path {
            Some(path) => format!("line {line} of the allow list {}", path.display()),
            None => "the command line or the configuration".to_owned(),
        })
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let what = format!("the allow list {} cannot be read ({error})", path.display());
    Failure::new(FailureKind::Keys, what, "check its path and permissions")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_that_is_no_peer_id_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("allow");
        fs::write(&path, "# friends\n\nnobody\n").expect("written");
        let error = AllowList::open(&path).err().expect("refused");
        assert!(error.what.contains("line 3"), "{error}");
    }

    #[test]
    fn a_list_that_is_too_long_is_read_up_to_its_bound() {
        let id = |number: usize| {
            let mut id = [7; 32];
            id[..8].copy_from_slice(&number.to_be_bytes());
            PeerId(id)
        };
        let text: String = (0..MAX_PEERS + 2).map(|number| format!("{}\n", id(number))).collect();
        let list = AllowList::parse(&text, Path::new("allow")).expect("read");
        assert_eq!(list.len(), MAX_PEERS);
        assert!(list.contains(&id(MAX_PEERS - 1)) && !list.contains(&id(MAX_PEERS)));
        assert_eq!(list.place_of(&id(4)).as_deref(), Some("line 5 of the allow list allow"));
    }

    #[test]
    fn lists_of_the_same_peers_are_equal_whatever_else_their_files_say() {
        let peer = PeerId([7; 32]);
        let list = |text: &str| AllowList::parse(text, Path::new("allow")).expect("read");
        assert!(list(&format!("# a friend\n{peer} here\n")) == AllowList::of([peer]));
        assert!(list("") != AllowList::of([peer]));
    }
}
