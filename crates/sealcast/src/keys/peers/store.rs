//! The lists of one listening end, in memory and in a directory of their own.
//!
//! The running program and `sealcast peers` edit the same files. Each edit reads the files, changes what it read and
//! writes it back, all under a lock, so none is lost. A second lock, held while the program runs, keeps another
//! program from using the same lists.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use zeroize::Zeroizing;

use super::lines;
use super::lists::{Edit, PeerLists};
use crate::failure::{Failure, FailureKind, Result};
use crate::private_file;

/// How long a running program waits for an edit of a command; media wait with it.
const PROGRAM_PATIENCE: Duration = Duration::from_millis(300);
/// How long a command waits for an edit of another program.
const COMMAND_PATIENCE: Duration = Duration::from_secs(10);
/// Interval of the attempts to get a lock.
const LOOK: Duration = Duration::from_millis(10);

const ENROLLED: &str = "enrolled";
const INVITES: &str = "invites";
const EDITING: &str = "lock";
const RUNNING: &str = "running";

/// The lists of one listening end.
pub struct PeerStore {
    dir: Option<PathBuf>,
    /// Locked while the program runs.
    claim: Option<File>,
    patience: Duration,
    lists: PeerLists,
    /// Edits that could not be written. They hold until exit, and are written as soon as that is possible. A peer can
    /// cause one for each invite that it proves, so there are at most `MAX_ENROLLED` times `MAX_INVITES`.
    pending: Vec<Edit>,
}

impl PeerStore {
    /// Empty lists without files, lost at exit.
    pub fn in_memory() -> Self {
        Self {
            dir: None,
            claim: None,
            patience: Duration::ZERO,
            lists: PeerLists::default(),
            pending: Vec::new(),
        }
    }

    /// The lists in this directory, for a program that runs with them. If they cannot be read, this is logged, and
    /// they begin empty.
    ///
    /// # Errors
    /// Another program runs with them.
    pub fn claim(dir: &Path, now: Timestamp) -> Result<Self> {
        let mut store = Self::at(dir, PROGRAM_PATIENCE);
        let claimed = private_file::create_folder(dir).and_then(|()| lock(&dir.join(RUNNING), PROGRAM_PATIENCE));
        match claimed.and_then(|file| note_process(&file).map(|()| file)) {
            Ok(file) => store.claim = Some(file),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let who = running(dir).map_or_else(String::new, |id| format!(" (process {id})"));
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
    /// They cannot be read.
    pub fn open(dir: &Path, now: Timestamp) -> Result<Self> {
        let mut store = Self::at(dir, COMMAND_PATIENCE);
        store.synchronise(now)?;
        Ok(store)
    }

    fn at(dir: &Path, patience: Duration) -> Self {
        Self {
            dir: Some(dir.to_owned()),
            patience,
            ..Self::in_memory()
        }
    }

    /// The lists, as last read or changed.
    pub fn lists(&self) -> &PeerLists {
        &self.lists
    }

    /// Read the files again. If that is impossible, this is logged, and the lists stay as they are.
    pub fn read_again(&mut self, now: Timestamp) {
        if let Err(failure) = self.synchronise(now) {
            tracing::warn!("{failure}");
        }
    }

    /// Make a change, in memory and in the files.
    ///
    /// # Errors
    /// The files cannot be written; the change holds until exit.
    pub fn edit(&mut self, edit: Edit, now: Timestamp) -> Result<()> {
        self.lists.apply(&edit, now);
        self.pending.retain(|other| !edit.replaces(other));
        self.pending.push(edit);
        self.synchronise(now)
    }

    /// Make a change as [`edit`](Self::edit). If it cannot be written, this is logged.
    pub fn edit_or_warn(&mut self, edit: Edit, now: Timestamp) {
        if let Err(failure) = self.edit(edit, now) {
            tracing::warn!("{failure}");
        }
    }

    /// Read the files, and write to them what is not written yet.
    fn synchronise(&mut self, now: Timestamp) -> Result<()> {
        if let Some(dir) = &self.dir {
            let lists = exchange(dir, &self.pending, self.patience, now);
            self.lists = lists.map_err(|error| unusable(dir, &error))?;
        }
        self.pending.clear();
        Ok(())
    }
}

/// The process that runs with the lists in this directory.
pub fn running(dir: &Path) -> Option<u32> {
    let file = File::open(dir.join(RUNNING)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => fs::read_to_string(dir.join(RUNNING)).ok()?.trim().parse().ok(),
        _ => None,
    }
}

fn note_process(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

/// Read the lists, apply the edits and write the result, while no other program does.
fn exchange(dir: &Path, edits: &[Edit], patience: Duration, now: Timestamp) -> io::Result<PeerLists> {
    let paths = [dir.join(ENROLLED), dir.join(INVITES)];
    private_file::create_folder(dir)?;
    let _editing = lock(&dir.join(EDITING), patience)?;
    let [enrolled, invites] = [read(&paths[0])?, read(&paths[1])?];
    let mut lists = PeerLists {
        peers: lines::peers(&enrolled, &paths[0]),
        invites: lines::invites(&invites, &paths[1]),
    };
    if edits.is_empty() {
        return Ok(lists);
    }
    for edit in edits {
        lists.apply(edit, now);
    }
    // Invites first: if the second file cannot be written, a use is lost and none is gained.
    replace(&paths[1], &invites, &lines::of_invites(&lists.invites))?;
    replace(&paths[0], &enrolled, &lines::of_peers(&lists.peers))?;
    Ok(lists)
}

/// Open and lock a file, which is unlocked when it is closed.
fn lock(path: &Path, patience: Duration) -> io::Result<File> {
    let options = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path);
    let (file, deadline) = (options?, Instant::now() + patience);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOOK),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The text of a file; empty if there is none yet.
fn read(path: &Path) -> io::Result<Zeroizing<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Zeroizing::default()),
        Err(error) => return Err(error),
    };
    let mut bytes = Zeroizing::new(Vec::with_capacity(lines::MAX_FILE + 1));
    file.take(lines::MAX_FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > lines::MAX_FILE {
        tracing::warn!(file = %path.display(), "this file is far too long: the rest is left out");
        bytes.truncate(lines::MAX_FILE);
    }
    Ok(Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned()))
}

fn replace(path: &Path, before: &str, after: &str) -> io::Result<()> {
    match before == after {
        true => Ok(()),
        false => private_file::replace_secret(path, after.as_bytes()),
    }
}

fn unusable(dir: &Path, error: &io::Error) -> Failure {
    let what = format!("the lists of peers in {} cannot be used ({error})", dir.display());
    let hint = "changes last until this program ends; make the directory and its files writable";
    Failure::new(FailureKind::Keys, what, hint)
}
