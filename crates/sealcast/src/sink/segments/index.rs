//! The index of a recording in segments: the only files that it ever removes.
//!
//! A text file in the recording's folder, one for each template: a line `+ NAME` for each file that was begun, and
//! `- NAME` for each that was removed again. It is appended to, and written anew, whole or not at all, when most of it
//! is about files that are gone.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat, unlinkat};

use super::options::Template;
use crate::failure::{Failure, FailureKind, Result};
use crate::file_lock::FileLock;
use crate::private_file;

/// Longest index that is read, bytes: ten years of a minute each.
const MAX_INDEX: u64 = 256 << 20;
/// Lines about files that are gone, from which on it is written anew if they are most of it.
const GONE: usize = 1000;

/// A file of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name in the folder.
    pub(super) name: String,
    pub(super) bytes: u64,
    /// When it was last written, since 1970.
    pub(super) ended: Duration,
}

/// The files of a recording, the oldest first.
#[derive(Debug)]
pub(super) struct Index {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    pub(super) entries: VecDeque<Entry>,
    /// Lines of the file.
    lines: usize,
    /// Held while it is written.
    _lock: FileLock,
}

impl Index {
    /// Opens the index of the template, and makes it and its folder if they are missing.
    ///
    /// # Errors
    /// Kind `Sink`: it cannot be written, or another program records by it.
    pub(super) fn open(template: &Template) -> Result<Self> {
        let folder = &template.folder;
        let fail = |error: io::Error| {
            let what = format!("recordings cannot be kept in {}: {error}", folder.display());
            Failure::new(
                FailureKind::Sink,
                what,
                "choose a folder that this user may write to, on a disk with room",
            )
        };
        private_file::create_folder(folder).map_err(fail)?;
        let name = format!("{}.index", template.rest.replace('/', "+"));
        let path = folder.join(&name);
        let lock = private_file::options()
            .create(true)
            .truncate(false)
            .write(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(folder.join(format!("{name}.lock")));
        let lock = FileLock::try_new(lock.map_err(fail)?).map_err(|error| match error {
            TryLockError::WouldBlock => Failure::new(
                FailureKind::Sink,
                format!("another sealcast records to {} by the same names", folder.display()),
                "stop it first, or record by other names: front-%H-%M-%S.mp4",
            ),
            TryLockError::Error(error) => fail(error),
        })?;
        let (names, lines) = listed(&path).map_err(fail)?;
        let listed = names.len();
        let entries: VecDeque<_> = names.into_iter().filter_map(|name| entry(folder, name)).collect();
        // A name whose file somebody took away may be somebody's own one day.
        let file = match entries.len() == listed {
            true => append(&path),
            false => written_anew(&path, entries.iter().map(|entry| &*entry.name)),
        };
        let file = file.map_err(fail)?;
        Ok(Self {
            folder: folder.clone(),
            path,
            file,
            entries,
            lines,
            _lock: lock,
        })
    }

    /// A file of this name begins.
    ///
    /// # Errors
    /// The index cannot be written.
    pub(super) fn begun(&mut self, name: &str) -> io::Result<()> {
        self.note('+', name)
    }

    /// The file of this name is complete, or gone, since nothing was written to it.
    ///
    /// # Errors
    /// The index cannot be written.
    pub(super) fn ended(&mut self, name: String) -> io::Result<()> {
        match entry(&self.folder, name.clone()) {
            Some(entry) => self.entries.push_back(entry),
            None => self.note('-', &name)?,
        }
        Ok(())
    }

    /// Removes the oldest file; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be removed. It is not in the index any more.
    pub(super) fn remove_oldest(&mut self) -> Option<io::Result<Entry>> {
        let entry = self.entries.pop_front()?;
        let removed = remove(&self.folder, &entry.name);
        let noted = self.note('-', &entry.name).and_then(|()| self.tidy());
        Some(match removed {
            Ok(()) => noted.map(|()| entry),
            Err(error) if error.kind() == ErrorKind::NotFound => noted.map(|()| entry),
            Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", entry.name))),
        })
    }

    fn note(&mut self, sign: char, name: &str) -> io::Result<()> {
        self.lines += 1;
        self.file.write_all(format!("{sign} {name}\n").as_bytes())
    }

    /// Writes it anew if most of it is about files that are gone.
    fn tidy(&mut self) -> io::Result<()> {
        if self.lines < 2 * self.entries.len() + GONE {
            return Ok(());
        }
        let names = listed(&self.path)?.0;
        self.lines = names.len();
        self.file = written_anew(&self.path, names.iter().map(String::as_str))?;
        Ok(())
    }
}

/// Writes the index with these names, whole or not at all, and opens it to go on.
fn written_anew<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> io::Result<File> {
    let mut text = String::new();
    for name in names {
        // Writing to a string does not fail.
        let _ = writeln!(text, "+ {name}");
    }
    private_file::replace_secret(path, text.as_bytes())?;
    append(path)
}

fn append(path: &Path) -> io::Result<File> {
    let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
    private_file::options()
        .create(true)
        .append(true)
        .custom_flags(nofollow)
        .open(path)
}

/// The names in the index in the order in which they came, and the number of its lines.
fn listed(path: &Path) -> io::Result<(Vec<String>, usize)> {
    let mut text = String::new();
    let nofollow = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match File::options()
        .read(true)
        .custom_flags(nofollow.bits().cast_signed())
        .open(path)
    {
        Ok(file) => file.take(MAX_INDEX).read_to_string(&mut text)?,
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    // A last line that was cut off names no file.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let (mut live, mut lines) = (HashMap::new(), 0);
    for line in whole.lines() {
        lines += 1;
        match line.split_at_checked(2) {
            Some(("+ ", name)) if is_below(name) => {
                live.entry(name).or_insert(lines);
            }
            Some(("- ", name)) => {
                live.remove(name);
            }
            _ => {}
        }
    }
    let mut live = live.into_iter().collect::<Vec<_>>();
    live.sort_unstable_by_key(|(_, line)| *line);
    Ok((live.into_iter().map(|(name, _)| name.to_owned()).collect(), lines))
}

/// True if the name leads down from the folder alone.
fn is_below(name: &str) -> bool {
    !name.is_empty()
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

/// The file of this name, if it is one and no link.
fn entry(folder: &Path, name: String) -> Option<Entry> {
    let found = folder.join(&name).symlink_metadata().ok().filter(Metadata::is_file)?;
    let ended = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Entry {
        name,
        bytes: found.len(),
        ended,
    })
}

/// Removes a file below the folder, and the folders above it that are empty then. No link is followed.
fn remove(folder: &Path, name: &str) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    // The folder itself is the user's, who may have put a link there.
    let base = openat(
        CWD,
        folder,
        OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY,
        Mode::empty(),
    )?;
    let (mut above, mut parts) = (vec![base], Path::new(name).components().collect::<Vec<_>>());
    let file = parts.pop().ok_or(ErrorKind::InvalidInput)?;
    for part in &parts {
        let next = openat(
            above.last().ok_or(ErrorKind::InvalidInput)?,
            part.as_os_str(),
            flags,
            Mode::empty(),
        )?;
        above.push(next);
    }
    let last = above.pop().ok_or(ErrorKind::InvalidInput)?;
    let found = statat(&last, file.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is a link, a pipe or a device, and no file",
        ));
    }
    unlinkat(&last, file.as_os_str(), AtFlags::empty())?;
    while let (Some(above), Some(part)) = (above.pop(), parts.pop()) {
        // It fails where something is left in it.
        if unlinkat(&above, part.as_os_str(), AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
    Ok(())
}
