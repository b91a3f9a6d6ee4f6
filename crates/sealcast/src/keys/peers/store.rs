//! The lists of one listening end, in memory and in a directory of their own.
//!
//! The running program and `sealcast peers` edit the same files. Each edit reads the files, changes what it read and
//! writes it back, all under a lock, so none is lost. A second lock, held while the program runs, keeps another
//! program from using the same lists.
//!
//! Thousands may be enrolled, one after the other. So the list of peers is read only if it is not the file that was
//! read or written last, and peers that are new are appended to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rustix::process::geteuid;
use zeroize::Zeroizing;

use super::lines;
use super::lists::{Edit, LiveInvite, PeerLists};
use super::roll::Roll;
use crate::failure::{Failure, FailureKind, Result};
use crate::file_lock::FileLock;
use crate::keys::claim::{COMMAND_PATIENCE, PROGRAM_PATIENCE, claim, holder, holder_in_words, lock};
use crate::private_file;

const ENROLLED: &str = "enrolled";
const INVITES: &str = "invites";
const EDITING: &str = "lock";
const RUNNING: &str = "running";

/// The lists of one listening end.
pub struct PeerStore {
    dir: Option<PathBuf>,
    /// Locked while the program runs.
    claim: Option<FileLock>,
    patience: Duration,
    /// True of a program that runs with them, false of a command that changes them and ends.
    runs: bool,
    /// Changed by the store alone, and never locked while it waits for a disk.
    lists: Arc<RwLock<PeerLists>>,
    /// Edits that could not be written. They hold until exit, and are written as soon as that is possible. A peer can
    /// cause one for each invite that it proves, so there are at most `MAX_ENROLLED` times `MAX_INVITES`.
    pending: Vec<Edit>,
    /// The file of peers whose content the lists are, if nothing is pending.
    seen: Option<Seen>,
    /// Number of times that that file was another one.
    readings: u64,
}

/// Contents of the files.
struct Files {
    /// `None` if they are those of the lists.
    peers: Option<Roll>,
    invites: Vec<LiveInvite>,
    invites_text: Zeroizing<String>,
}

/// A file as it was when it was read or written last. It stays open, so that no other file gets its number.
struct Seen {
    file: File,
    length: u64,
    modified: (i64, i64),
}

impl PeerStore {
    /// Empty lists without files, lost at exit.
    pub fn in_memory() -> Self {
        Self {
            dir: None,
            claim: None,
            patience: Duration::ZERO,
            runs: false,
            lists: Arc::default(),
            pending: Vec::new(),
            seen: None,
            readings: 0,
        }
    }

    /// The lists in this directory, for a program that runs with them. If they cannot be read, this is logged, and
    /// they begin empty.
    ///
    /// # Errors
    /// Another program runs with them.
    pub fn claim(dir: &Path, now: Timestamp) -> Result<Self> {
        let mut store = Self::at(dir, PROGRAM_PATIENCE);
        store.runs = true;
        match private_file::create_folder(dir).and_then(|()| claim(&dir.join(RUNNING))) {
            Ok(file) => {
                private_file::remove_leftovers(dir);
                store.claim = Some(file);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let who = holder_in_words(&dir.join(RUNNING));
                let what = format!("another program{who} runs with the lists in {}", dir.display());
                let hint = "stop it, or give one of the two another --name";
                return Err(Failure::new(FailureKind::Usage, what, hint));
            }
            // Reading fails as well and says why.
            Err(_) => {}
        }
        store.read_again(now);
        Ok(store)
    }

    /// The lists in this directory, for a command that changes them and ends.
    ///
    /// # Errors
    /// They cannot be read, or belong to another user, for whom root would write files that this user cannot read.
    pub fn open(dir: &Path, now: Timestamp) -> Result<Self> {
        let owner = fs::metadata(dir).map_or(None, |found| Some(found.uid()));
        if let Some(owner) = owner.filter(|owner| *owner != 0 && geteuid().is_root()) {
            let what = format!("the lists in {} belong to another user ({owner})", dir.display());
            let hint = format!("run this as that user: setpriv --reuid {owner} --clear-groups sealcast …");
            return Err(Failure::new(FailureKind::Keys, what, hint));
        }
        let mut store = Self::at(dir, COMMAND_PATIENCE);
        store.synchronise(None, now)?;
        Ok(store)
    }

    fn at(dir: &Path, patience: Duration) -> Self {
        Self {
            dir: Some(dir.to_owned()),
            patience,
            ..Self::in_memory()
        }
    }

    /// The directory, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The lists, as last read or changed. Nothing may be changed while this is held.
    pub fn lists(&self) -> RwLockReadGuard<'_, PeerLists> {
        read_lists(&self.lists)
    }

    /// The lists, for who looks at them without waiting for a change that is being written.
    pub fn shared_lists(&self) -> Arc<RwLock<PeerLists>> {
        Arc::clone(&self.lists)
    }

    fn change<T>(&self, change: impl FnOnce(&mut PeerLists) -> T) -> T {
        change(&mut self.lists.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn apply<'e>(&self, edits: impl IntoIterator<Item = &'e Edit>, now: Timestamp) {
        self.change(|lists| edits.into_iter().for_each(|edit| lists.apply(edit, now)));
    }

    /// Counts how often peers were read that another program may have changed.
    pub fn readings(&self) -> u64 {
        self.readings
    }

    /// Read the files again. If that is impossible, this is logged, and the lists stay as they are.
    pub fn read_again(&mut self, now: Timestamp) {
        if let Err(failure) = self.synchronise(None, now) {
            tracing::warn!("{failure}");
        }
    }

    /// Make a change, in memory and in the files.
    ///
    /// # Errors
    /// The files cannot be written; the change holds until exit.
    pub fn edit(&mut self, edit: Edit, now: Timestamp) -> Result<()> {
        self.synchronise(Some(edit), now)
    }

    /// Make a change as [`edit`](Self::edit). If it cannot be written, this is logged.
    pub fn edit_or_warn(&mut self, edit: Edit, now: Timestamp) {
        if let Err(failure) = self.edit(edit, now) {
            tracing::warn!("{failure}");
        }
    }

    /// Make a change as [`edit`](Self::edit), for somebody who reads the answer. Returns what to add to it: nothing, or
    /// that a running program could not write the change, so that it is gone when the program ends.
    ///
    /// # Errors
    /// The files cannot be written, and no program runs with these lists.
    pub fn edit_and_say(&mut self, edit: Edit, now: Timestamp) -> Result<String> {
        match self.edit(edit, now) {
            Ok(()) => Ok(String::new()),
            Err(failure) if self.runs => {
                tracing::warn!("{failure}");
                Ok(format!(", but only until the program ends: {}", failure.what))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Read the files, make a change, and write to them what is not written yet.
    fn synchronise(&mut self, edit: Option<Edit>, now: Timestamp) -> Result<()> {
        let Some(dir) = self.dir.clone() else {
            self.apply(&edit, now);
            return Ok(());
        };
        let read = lock_for_edit(&dir, self.patience).and_then(|lock| Ok((lock, self.read(&dir)?)));
        if read.is_err() {
            // What was pending holds already.
            self.apply(&edit, now);
        }
        if let Some(edit) = edit {
            self.pending.retain(|other| !edit.replaces(other));
            self.pending.push(edit);
        }
        let (_editing, files) = read.map_err(|error| unusable(&dir, &error, self.runs))?;
        // In one step: who looks at the lists in between must not miss what is pending.
        let known = self.change(|lists| {
            if let Some(peers) = files.peers {
                lists.peers = peers;
            }
            lists.invites = files.invites;
            lists.version += 1;
            let known = lists.peers.len();
            self.pending.iter().for_each(|edit| lists.apply(edit, now));
            known
        });
        if !self.pending.is_empty() {
            let written = self.write(&dir, &files.invites_text, known);
            written.map_err(|error| unusable(&dir, &error, self.runs))?;
        }
        self.pending.clear();
        Ok(())
    }

    /// Reads the files, as far as they may not be what the lists are.
    fn read(&mut self, dir: &Path) -> io::Result<Files> {
        let paths = [dir.join(ENROLLED), dir.join(INVITES)];
        let invites_text = read(&paths[1], lines::MAX_INVITES_FILE)?;
        let mut peers = None;
        let seen = self.seen.as_ref().is_some_and(|seen| seen.is_at(&paths[0]));
        if !seen || !self.pending.is_empty() {
            self.seen = None;
            let text = read(&paths[0], lines::MAX_ENROLLED_FILE)?;
            peers = Some(lines::peers(&text, &paths[0], &self.lists().peers));
            self.readings += 1;
            // After half a line nothing can be appended.
            if text.ends_with('\n') {
                self.seen = Seen::at(&paths[0]);
            }
        }
        Ok(Files {
            peers,
            invites: lines::invites(&invites_text, &paths[1]),
            invites_text,
        })
    }

    /// Writes the lists: the file of invites had this text, and that of peers the first so many.
    fn write(&mut self, dir: &Path, invites: &str, known: usize) -> io::Result<()> {
        let lists = self.lists();
        let added = lists.peers.since(known);
        let only_added = added.len() == self.pending.len() && self.pending.iter().all(Edit::lists);
        let no_peers = self.pending.iter().all(Edit::spares_peers);
        let peers = match &self.seen {
            Some(_) if no_peers => None,
            Some(_) if only_added => Some((true, lines::of_new_peers(added))),
            _ => Some((false, lines::of_peers(&lists.peers))),
        };
        let invites_now = lines::of_invites(&lists.invites);
        drop(lists);
        // If anything fails, the files are read before the next change.
        let seen = self.seen.take();
        // Invites first: if the second file cannot be written, a use is lost and none is gained.
        replace(&dir.join(INVITES), invites, &invites_now)?;
        let path = dir.join(ENROLLED);
        self.seen = match (peers, seen) {
            (None, seen) => seen,
            (Some((true, lines)), Some(seen)) => Some(seen.append(&path, &lines)?),
            (Some((_, text)), _) => {
                private_file::replace_secret(&path, text.as_bytes())?;
                Seen::at(&path)
            }
        };
        Ok(())
    }
}

/// Waits for no more than a change in memory.
pub fn read_lists(lists: &RwLock<PeerLists>) -> RwLockReadGuard<'_, PeerLists> {
    // Each change leaves the lists consistent, so a panic in another thread does no harm.
    lists.read().unwrap_or_else(PoisonError::into_inner)
}

impl Seen {
    fn at(path: &Path) -> Option<Self> {
        Self::of(File::open(path).ok()?).ok()
    }

    fn of(file: File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self {
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            file,
        })
    }

    /// True if this is still the file at this path, and nobody has changed it.
    fn is_at(&self, path: &Path) -> bool {
        let (Ok(own), Ok(there)) = (self.file.metadata(), fs::metadata(path)) else {
            return false;
        };
        let same = (own.dev(), own.ino()) == (there.dev(), there.ino());
        same && (there.len(), there.mtime(), there.mtime_nsec()) == (self.length, self.modified.0, self.modified.1)
    }

    /// Appends lines. If that fails, what was written of them is taken away again; if that fails as well, half a line
    /// is left out by who reads it.
    fn append(self, path: &Path, lines: &str) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).open(path)?;
        let written = file.write_all(lines.as_bytes()).and_then(|()| file.sync_data());
        if written.is_err() {
            // It fails only where the disk does.
            let _ = file.set_len(self.length);
        }
        written.and_then(|()| Self::of(file))
    }
}

/// The process that runs with the lists in this directory.
pub fn running(dir: &Path) -> Option<u32> {
    holder(&dir.join(RUNNING))
}

/// True if a program has run with the lists in this directory; a command makes lists as well.
pub fn has_run(dir: &Path) -> bool {
    [INVITES, RUNNING].iter().any(|name| dir.join(name).exists())
}

/// When a program began to run with the lists in this directory, or when they were changed.
pub fn last_used(dir: &Path) -> Option<SystemTime> {
    let times = [RUNNING, INVITES, ENROLLED].map(|name| fs::metadata(dir.join(name)).and_then(|file| file.modified()));
    times.into_iter().filter_map(io::Result::ok).max()
}

/// Keep other programs from reading and writing the lists, until this is closed.
fn lock_for_edit(dir: &Path, patience: Duration) -> io::Result<FileLock> {
    private_file::create_folder(dir)?;
    lock(&dir.join(EDITING), patience)
}

/// The text of a file; empty if there is none yet. Beyond `most` bytes it is not read.
fn read(path: &Path, most: usize) -> io::Result<Zeroizing<String>> {
    // Who could read it would have the secrets, and who could write it could enrol itself.
    let Some(mut bytes) = private_file::read_private(path, most as u64 + 1)? else {
        return Ok(Zeroizing::default());
    };
    if bytes.len() > most {
        tracing::warn!(file = %path.display(), "this file is far too long: the rest is left out");
        bytes.truncate(most);
    }
    Ok(Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned()))
}

fn replace(path: &Path, before: &str, after: &str) -> io::Result<()> {
    match before == after {
        true => Ok(()),
        false => private_file::replace_secret(path, after.as_bytes()),
    }
}

fn unusable(dir: &Path, error: &io::Error, runs: bool) -> Failure {
    let what = format!("the lists of peers in {} cannot be used ({error})", dir.display());
    let lost = if runs {
        "changes last until this program ends; "
    } else {
        ""
    };
    let hint = "make the directory and its files writable, and make room on its disk";
    Failure::new(FailureKind::Keys, what, format!("{lost}{hint}"))
}
