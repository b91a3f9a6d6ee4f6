//! Files that a program locks: for an edit, or for as long as it runs.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::file_lock::FileLock;
use crate::private_file::{open_regular, options};

/// Time for which a starting program waits for one that is just ending, and an edit for another one; media wait with
/// it.
pub(super) const PROGRAM_PATIENCE: Duration = Duration::from_millis(300);
/// Time for which a command waits for an edit of another program.
pub(super) const COMMAND_PATIENCE: Duration = Duration::from_secs(10);
/// Interval of the attempts to get a lock.
const LOOK: Duration = Duration::from_millis(10);

/// Open and lock a file, which stays locked until what is returned is dropped.
///
/// # Errors
/// The file cannot be made; kind `WouldBlock`: another program has it locked for longer than that.
pub(super) fn lock(path: &Path, patience: Duration) -> io::Result<FileLock> {
    let deadline = Instant::now() + patience;
    loop {
        let file = open_regular(path, options().write(true).create(true).truncate(false))?;
        match FileLock::try_new(file) {
            Ok(held) => return Ok(held),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOOK),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Lock a file for as long as this program runs, and note in it which program that is.
///
/// # Errors
/// As [`lock`].
pub(super) fn claim(path: &Path) -> io::Result<FileLock> {
    let held = lock(path, PROGRAM_PATIENCE)?;
    let mut file = held.file();
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(held)
}

/// The process that has a file claimed.
pub(super) fn holder(path: &Path) -> Option<u32> {
    match File::open(path).ok()?.try_lock_shared() {
        Err(TryLockError::WouldBlock) => fs::read_to_string(path).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// The process that has a file claimed, in words that follow "another program"; nothing if it is not known.
pub(super) fn holder_in_words(path: &Path) -> String {
    holder(path).map_or_else(String::new, |id| format!(" (process {id})"))
}
