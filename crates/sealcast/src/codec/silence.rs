//! Keeps a C library from writing to our log.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::stdio::dup2_stderr;

/// Call `start` while what C code writes to standard error is lost.
///
/// A new OpenH264 encoder warns of a setting that we chose, with its own address in memory, before it can be told to
/// be quiet. Our own lines are not lost: they wait for the lock on standard error.
pub(super) fn silently<T>(start: impl FnOnce() -> T) -> T {
    let stderr = io::stderr().lock();
    let restored = divert(stderr.as_fd());
    let result = start();
    drop(restored);
    drop(stderr);
    result
}

/// Restores standard error when dropped, also by a panic.
struct Restored(OwnedFd);

impl Drop for Restored {
    fn drop(&mut self) {
        // Putting back a descriptor that was there before needs nothing that could be missing.
        let _ = dup2_stderr(&self.0);
    }
}

/// Standard error goes to `/dev/null` until the result is dropped. Without a free descriptor it stays as it is: a line
/// too many is better than an encoder that does not start.
fn divert(stderr: impl AsFd) -> Option<Restored> {
    let before = Restored(stderr.as_fd().try_clone_to_owned().ok()?);
    let nothing = File::options().write(true).open("/dev/null").ok()?;
    dup2_stderr(&nothing).ok()?;
    Some(before)
}
