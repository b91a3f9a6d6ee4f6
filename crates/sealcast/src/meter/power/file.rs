//! Kernel files that contain a number, kept open to be read repeatedly.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, FailureKind, Result};

/// Longer than any number and its newline.
const MAX_NUMBER: usize = 64;

/// A file whose current content is read with a single system call each time.
#[derive(Debug)]
pub(crate) struct NumberFile {
    path: PathBuf,
    file: File,
}

impl NumberFile {
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let file = File::open(&path)?;
        Ok(Self { path, file })
    }

    /// The number in the field with index `field`, counted from 0; fields are separated by white space.
    pub(crate) fn field(&self, field: usize) -> io::Result<u64> {
        self.parsed(field)
    }

    /// The first number, which may be negative.
    pub(crate) fn signed(&self) -> io::Result<i64> {
        self.parsed(0)
    }

    fn parsed<T: std::str::FromStr>(&self, field: usize) -> io::Result<T> {
        let mut text = [0; MAX_NUMBER];
        let length = self.file.read_at(&mut text, 0)?;
        let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
        let number = text.split_whitespace().nth(field).and_then(|word| word.parse().ok());
        number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it holds no number"))
    }

    /// The first number, or an error that explains why there is none.
    ///
    /// # Errors
    /// Kind `Source`, with the file.
    pub(crate) fn number(&self) -> Result<u64> {
        self.field(0).map_err(|error| unreadable(&self.path, &error))
    }
}

/// The single line of a file, or `None` if it cannot be read.
pub(crate) fn line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The folders in `tree`, sorted by name; empty if it cannot be read.
pub(crate) fn folders(tree: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(tree).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// The failure for a meter's file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "run as root, or let this user read the file",
        _ => "see docs/meters.md for what the meter needs, or measure without: --meter none",
    };
    let what = format!("the meter's file {} cannot be read ({error})", path.display());
    Failure::new(FailureKind::Source, what, hint)
}
