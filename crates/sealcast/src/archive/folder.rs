//! The folder of an archive: its segments, and the lock of who writes it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use sealcast_proto::archive::{ARCHIVE_ID_LEN, MAX_SEGMENT, Segment};

use super::times::nanos_of;
use crate::failure::{Failure, FailureKind, Result};
use crate::file_lock::FileLock;
use crate::keys::entropy;
use crate::private_file;

/// Maximum number of segments of an archive: three years of ten seconds each.
const MAX_SEGMENTS: usize = 10_000_000;

const NOT_REGULAR: &str = "it is a link, a pipe or a device, and no file";

const PREFIX: &str = "segment-";
const SUFFIX: &str = ".sealed";
/// A segment that has not begun: its head is not whole.
pub(super) const PART: &str = ".part";

/// A segment's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    /// The number in its name.
    pub number: u64,
    /// Path of the file.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was last written, ns since 1970.
    pub changed: u64,
}

impl SegmentFile {
    /// Its name, for messages.
    pub fn name(&self) -> String {
        file_name(self.number)
    }

    /// Reads it.
    ///
    /// # Errors
    /// Kind `Source`.
    pub fn read(&self) -> Result<Vec<u8>> {
        let fail = |why: String| {
            let what = format!("{} cannot be read: {why}", self.path.display());
            Failure::new(
                FailureKind::Source,
                what,
                "check the disk and the permissions of the folder",
            )
        };
        let file = open(&self.path).map_err(|error| fail(error.to_string()))?;
        let mut bytes = Vec::new();
        let most = MAX_SEGMENT as u64 + 1;
        let read = file.take(most).read_to_end(&mut bytes);
        read.map_err(|error| fail(error.to_string()))?;
        if bytes.len() as u64 == most {
            return Err(fail("it is far too long for a segment".into()));
        }
        Ok(bytes)
    }
}

/// Opens a file of an archive to read it, if it is a regular one: somebody who may write to the folder could have put a
/// link, a pipe or a device there, which leads elsewhere or has no end.
///
/// # Errors
/// It cannot be opened, or is no regular file.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // Whoever opens a pipe waits for its other end, unless it says otherwise.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| match error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            true => io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR),
            false => error,
        })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR)),
    }
}

fn file_name(number: u64) -> String {
    format!("{PREFIX}{number:010}{SUFFIX}")
}

fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
    // A number follows each.
    (file_name(number) == name && number < u64::MAX).then_some(number)
}

/// The folder of an archive.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Held while it is written.
    _lock: Option<FileLock>,
}

/// Place where an archive goes on.
pub(super) struct Next {
    pub(super) archive: [u8; ARCHIVE_ID_LEN],
    pub(super) number: u64,
    pub(super) previous: [u8; 32],
    /// Number of the oldest segment, as the newest says; 1 in a new archive.
    pub(super) oldest: u64,
}

impl Folder {
    /// Opens the folder to read it.
    ///
    /// # Errors
    /// Kind `Source`: it is no folder.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            let what = format!("{} is no folder", path.display());
            return Err(Failure::new(FailureKind::Source, what, "name the folder of an archive"));
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: None,
        })
    }

    /// Opens the folder to write to it, and creates it if it does not exist.
    ///
    /// # Errors
    /// Kind `Sink`: it cannot be created, or somebody else writes to it.
    pub fn lock(path: &Path) -> Result<Self> {
        let shown = path.display();
        let fail = |error: io::Error| {
            let what = format!("the archive {shown} cannot be written: {error}");
            Failure::new(FailureKind::Sink, what, "choose a folder that this user may write to")
        };
        private_file::create_folder(path).map_err(fail)?;
        let mut options = private_file::options();
        let lock = options.create(true).truncate(false).write(true);
        let lock = lock.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let lock = lock.open(path.join("lock")).map_err(fail)?;
        let lock = FileLock::try_new(lock).map_err(|error| match error {
            TryLockError::WouldBlock => Failure::new(
                FailureKind::Sink,
                format!("another sealcast writes to the archive {shown}"),
                "stop it first, or record to another folder",
            ),
            TryLockError::Error(error) => fail(error),
        })?;
        let folder = Self {
            path: path.to_owned(),
            _lock: Some(lock),
        };
        folder.remove_parts().map_err(fail)?;
        Ok(folder)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the segment with this number.
    pub fn segment(&self, number: u64) -> PathBuf {
        self.path.join(file_name(number))
    }

    /// Its segments, the oldest first.
    ///
    /// # Errors
    /// Kind `Source`.
    pub fn segments(&self) -> Result<Vec<SegmentFile>> {
        let fail = |why: String| {
            let what = format!("the archive {} cannot be read: {why}", self.path.display());
            Failure::new(
                FailureKind::Source,
                what,
                "check the disk and the permissions of the folder",
            )
        };
        let mut segments = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(|error| fail(error.to_string()))? {
            let entry = entry.map_err(|error| fail(error.to_string()))?;
            let Some(number) = entry.file_name().to_str().and_then(number_of) else {
                continue;
            };
            // It may have been removed for its age since the folder was read.
            let Ok(found) = entry.metadata() else { continue };
            if segments.len() == MAX_SEGMENTS {
                return Err(fail(format!("it has more than {MAX_SEGMENTS} segments")));
            }
            segments.push(SegmentFile {
                number,
                path: entry.path(),
                bytes: found.len(),
                changed: found.modified().map_or(0, nanos_of),
            });
        }
        segments.sort_unstable_by_key(|segment| segment.number);
        Ok(segments)
    }

    /// Place where a writer goes on after what is there.
    pub(super) fn next(&self, segments: &[SegmentFile]) -> Result<Next> {
        let Some(newest) = segments.last() else {
            return Ok(Next {
                archive: entropy::random()?,
                number: 1,
                previous: [0; 32],
                oldest: 1,
            });
        };
        let oldest = segments.first().map_or(1, |segment| segment.number);
        let number = newest.number + 1;
        let bytes = newest.read()?;
        let Ok(mut segment) = Segment::new(&bytes) else {
            // Recording goes on; whoever checks the archive is told of both.
            let archive: [u8; 16] = entropy::random()?;
            tracing::warn!(
                segment = %newest.name(),
                archive = %show_archive(&archive),
                "the head of the archive's newest segment cannot be read: it was damaged or destroyed, and another \
                 archive begins in this folder; `sealcast archive check` tells what is whole"
            );
            return Ok(Next {
                archive,
                number,
                previous: [0; 32],
                oldest,
            });
        };
        while let Some(Ok(_)) = segment.next_block() {}
        Ok(Next {
            archive: segment.head().archive,
            number,
            previous: segment.link(),
            oldest: segment.head().oldest,
        })
    }

    /// Brings the names of the folder to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn remove_parts(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == &PART[1..]) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// An archive's name, as it is shown: its first bytes are enough to tell two apart.
pub(super) fn show_archive(archive: &[u8; 16]) -> String {
    data_encoding::HEXLOWER.encode(&archive[..6])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    #[test]
    fn links_pipes_and_devices_in_an_archive_are_no_segments_and_hold_nobody_up() {
        let place = tempfile::tempdir().expect("a folder");
        let path = |name: &str| place.path().join(name);
        fs::write(path("file"), b"a segment").expect("space");
        symlink(path("file"), path("link")).expect("a link");
        symlink("/dev/zero", path("endless")).expect("a link");
        fs::create_dir(path("folder")).expect("a folder");
        let made = Command::new("mkfifo").arg(path("pipe")).status();
        assert!(made.is_ok_and(|made| made.success()));
        let read = |name: &str| {
            let segment = SegmentFile {
                number: 1,
                path: path(name),
                bytes: 0,
                changed: 0,
            };
            segment.read()
        };
        assert_eq!(read("file").expect("a file"), b"a segment");
        for name in ["link", "endless", "folder", "pipe"] {
            let refused = read(name).expect_err(name);
            assert!(refused.what.contains(NOT_REGULAR), "{name}: {refused}");
        }
        assert_eq!(read("nothing").expect_err("nothing").kind, FailureKind::Source);
    }
}
