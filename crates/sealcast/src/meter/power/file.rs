//! Files of the kernel that hold a number, kept open and read again and again.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, FailureKind, Result};

/// Longer than any number and the newline behind it.
const MAX_NUMBER: usize = 64;

/// A file whose content is read anew each time, at the price of one system call.
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

    /// The number at `field`, counted from 0, between white space.
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

    /// The first number, or why there is none.
    ///
    /// # Errors
    /// Kind `Source`, with the file.
    pub(crate) fn number(&self) -> Result<u64> {
        self.field(0).map_err(|error| unreadable(&self.path, &error))
    }
}

/// A file's one line, if it can be read.
pub(crate) fn line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The folders in `tree`, in order of their names; none if it cannot be read.
pub(crate) fn folders(tree: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(tree).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// A file of a meter cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "run as root, or let this user read the file",
        _ => "see docs/meters.md for what the meter needs, or measure without: --meter none",
    };
    let what = format!("the meter's file {} cannot be read ({error})", path.display());
    Failure::new(FailureKind::Source, what, hint)
}
