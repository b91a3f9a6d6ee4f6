//! When peers of a listening end were here last, kept over restarts in a file beside its lists.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sealcast_proto::keys::PeerId;

use super::roll::MAX_ENROLLED;
use crate::private_file::{read_private, replace_secret};

const FILE: &str = "last-seen";
/// Maximum number of peers that are remembered: those that are listed, and some of a hand-written list. One more takes
/// the place of the one that was here longest ago.
const MOST: usize = MAX_ENROLLED + 4096;
/// Maximum length of a line in bytes: an id and a time.
const MAX_LINE: usize = 80;

/// When peers were here last, in a file with a line for each:
///
/// ```text
/// PEER-ID TIME
/// ```
#[derive(Default)]
pub struct LastSeen {
    /// `None` keeps nothing over restarts.
    file: Option<PathBuf>,
    seen: HashMap<PeerId, Timestamp>,
    changed: bool,
}

/// The state that is to be written, apart from what changes in the meantime.
pub struct Unwritten {
    file: PathBuf,
    text: String,
}

impl LastSeen {
    /// Reads the file in this folder without its malformed lines; empty if there is none.
    pub fn at(folder: &Path) -> Self {
        let file = folder.join(FILE);
        let text = read_private(&file, (MOST * MAX_LINE) as u64).unwrap_or_else(|error| {
            tracing::debug!(file = %file.display(), %error, "when peers were here last is not known");
            None
        });
        let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
        let seen = text.lines().filter_map(|line| {
            let (id, time) = line.split_once(' ')?;
            Some((PeerId::parse(id)?, time.parse().ok()?))
        });
        Self {
            seen: seen.take(MOST).collect(),
            file: Some(file),
            changed: false,
        }
    }

    /// When this peer was here last.
    pub fn of(&self, peer: &PeerId) -> Option<Timestamp> {
        self.seen.get(peer).copied()
    }

    /// The peer is here.
    pub fn note(&mut self, peer: PeerId, now: Timestamp) {
        if self.seen.len() == MOST && !self.seen.contains_key(&peer) {
            let oldest = self.seen.iter().min_by_key(|(_, time)| **time);
            if let Some(oldest) = oldest.map(|(peer, _)| *peer) {
                self.seen.remove(&oldest);
            }
        }
        self.changed |= self.seen.insert(peer, now) != Some(now);
    }

    /// Remember only these peers.
    pub fn keep(&mut self, which: impl Fn(&PeerId) -> bool) {
        let before = self.seen.len();
        self.seen.retain(|peer, _| which(peer));
        self.changed |= self.seen.len() != before;
    }

    /// Text of the file, if it changed since the last call.
    pub fn take_unwritten(&mut self) -> Option<Unwritten> {
        let file = self.file.clone().filter(|_| std::mem::take(&mut self.changed))?;
        let mut text = String::with_capacity(self.seen.len() * MAX_LINE);
        for (peer, time) in &self.seen {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "{peer} {}", to_the_second(*time));
        }
        Some(Unwritten { file, text })
    }
}

impl Unwritten {
    /// Writes it, in place of what the file said.
    ///
    /// # Errors
    /// The file cannot be written; it says what it said.
    pub fn write(&self) -> io::Result<()> {
        replace_secret(&self.file, self.text.as_bytes())
    }
}

/// A time without the parts of a second.
pub(crate) fn to_the_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    fn peer(number: usize) -> PeerId {
        let mut id = [0xf0; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        PeerId(id)
    }

    #[test]
    fn what_was_seen_is_known_after_a_restart_and_bad_lines_say_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut seen = LastSeen::at(folder.path());
        assert!(seen.take_unwritten().is_none(), "nothing was seen");
        seen.note(peer(1), at(1));
        seen.note(peer(2), at(2));
        seen.take_unwritten().expect("news").write().expect("written");
        assert!(seen.take_unwritten().is_none(), "it is written");
        let file = folder.path().join(FILE);
        let text = std::fs::read_to_string(&file).expect("text") + "nobody\n- -\n" + &peer(3).to_string();
        replace_secret(&file, text.as_bytes()).expect("written");
        let mut seen = LastSeen::at(folder.path());
        assert_eq!(
            [1, 2, 3].map(|number| seen.of(&peer(number))),
            [Some(at(1)), Some(at(2)), None]
        );
        seen.keep(|id| *id == peer(2));
        assert!(seen.of(&peer(1)).is_none() && seen.take_unwritten().is_some());
    }

    #[test]
    fn one_too_many_takes_the_place_of_who_was_here_longest_ago() {
        let mut seen = LastSeen::default();
        (0..MOST).for_each(|number| seen.note(peer(number), at(number as i64)));
        seen.note(peer(0), at(MOST as i64));
        seen.note(peer(MOST), at(MOST as i64));
        assert_eq!(seen.seen.len(), MOST);
        assert!(seen.of(&peer(0)).is_some() && seen.of(&peer(1)).is_none() && seen.of(&peer(MOST)).is_some());
        assert!(seen.take_unwritten().is_none(), "in memory alone");
    }
}
