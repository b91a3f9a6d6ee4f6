//! Whether there is room where the program writes.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

use super::finding::Finding;
use crate::failure::FailureKind;

const CHECK: &str = "disk";
/// Free bytes below which the next write may fail, and below which a recording of an hour may.
const FULL: u64 = 16 << 20;
const SCARCE: u64 = 1 << 30;

/// The state of a file system.
struct Room {
    free: u64,
    read_only: bool,
    /// False if the file system does not say how large it is.
    known: bool,
}

/// Looks at the file system of a folder that the program writes to, or of the nearest folder above it that exists.
pub(super) fn check(folder: &Path) -> Finding {
    judge(folder, room(folder))
}

fn room(folder: &Path) -> io::Result<Room> {
    let found = statvfs(nearest(folder))?;
    Ok(Room {
        free: found.f_bavail.saturating_mul(found.f_frsize),
        read_only: found.f_flag.contains(StatVfsMountFlags::RDONLY),
        known: found.f_blocks > 0,
    })
}

/// The folder, or the nearest one above it that exists.
pub(super) fn nearest(folder: &Path) -> PathBuf {
    let existing = folder.ancestors().find(|path| path.exists());
    match existing {
        Some(path) => path.to_owned(),
        None => PathBuf::from("."),
    }
}

fn judge(folder: &Path, room: io::Result<Room>) -> Finding {
    let shown = folder.display();
    let room = match room {
        Ok(room) => room,
        Err(error) => {
            let saw = format!("the room at {shown} is not known ({error})");
            return Finding::unknown(CHECK, saw, format!("look with: df -h {shown}"));
        }
    };
    let free = room.free >> 20;
    if room.read_only {
        let saw = format!("{shown} is on a file system that is read-only");
        return Finding::wrong(
            CHECK,
            FailureKind::Sink,
            saw,
            "choose another folder, or mount it for writing",
        );
    }
    if !room.known {
        let saw = format!("the file system of {shown} does not say how much room it has");
        return Finding::unknown(CHECK, saw, format!("look with: df -h {shown}"));
    }
    match room.free {
        0..FULL => Finding::wrong(
            CHECK,
            FailureKind::Sink,
            format!("{shown} is full: {free} MiB are free"),
            format!("make room there: du -xh {} | sort -h | tail", nearest(folder).display()),
        ),
        FULL..SCARCE => Finding::warning(
            CHECK,
            format!("{free} MiB are free at {shown}: an hour of video at 2 Mbit/s takes 860"),
            "make room before recording",
        ),
        _ => Finding::ok(CHECK, format!("{free} MiB are free at {shown}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    fn judged(free: u64, read_only: bool) -> Finding {
        let room = Room {
            free,
            read_only,
            known: true,
        };
        judge(Path::new("/video"), Ok(room))
    }

    #[test]
    fn a_full_disk_and_one_that_cannot_be_written_are_wrong() {
        let full = judged(3 << 20, false);
        assert_eq!((full.verdict, full.kind), (Verdict::Wrong, Some(FailureKind::Sink)));
        assert!(full.saw.contains("3 MiB"), "{full:?}");
        assert_eq!(judged(1 << 40, true).verdict, Verdict::Wrong);
        assert_eq!(judged(100 << 20, false).verdict, Verdict::Warning);
        assert_eq!(judged(1 << 40, false).verdict, Verdict::Ok);
        let unread = judge(
            Path::new("/video"),
            Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        );
        assert_eq!(unread.verdict, Verdict::Unknown);
        assert_eq!(check(Path::new("/proc")).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_folder_that_does_not_exist_yet_is_judged_by_the_one_above_it() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(nearest(&dir.path().join("deep/er")), dir.path());
        assert_ne!(check(&dir.path().join("deep/er")).verdict, Verdict::Unknown);
    }
}
