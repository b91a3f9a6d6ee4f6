//! A locked file.

use std::fs::{File, TryLockError};
use std::io;

/// A file that is locked until this is dropped.
///
/// It is unlocked, not only closed: a child process that is just being made holds a copy of each open file until it
/// executes its program, and a lock lasts as long as any copy of its file.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks the file, if nobody else has it locked.
    ///
    /// # Errors
    /// `WouldBlock`: somebody has; otherwise that of the system.
    pub fn try_new(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }

    /// Locks the file, once nobody else has it locked.
    ///
    /// # Errors
    /// That of the system.
    pub fn wait(file: File) -> io::Result<Self> {
        file.lock()?;
        Ok(Self(file))
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing unlocks it in any case, if later.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::TryLockError;

    use super::FileLock;

    #[test]
    fn what_is_dropped_is_unlocked_although_a_copy_of_the_file_is_open() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let lock = FileLock::try_new(file.reopen().expect("there")).expect("free");
        let copy = lock.file().try_clone().expect("a copy");
        let taken = FileLock::try_new(file.reopen().expect("there"));
        assert!(matches!(taken, Err(TryLockError::WouldBlock)));
        drop(lock);
        FileLock::try_new(file.reopen().expect("there")).expect("free again");
        drop(copy);
    }
}
