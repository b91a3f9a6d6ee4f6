//! Files of which it matters who else may read or write them: secrets, allow lists, and everything that the program
//! writes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::{geteuid, umask};
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};
use crate::file_lock::FileLock;

/// Maximum length in bytes of a secret file: an identity has 73 bytes, a ticket at most 512; a file of cameras is the
/// longest.
pub const MAX_SECRET_FILE: u64 = 4096;

/// Maximum length in bytes of an allow list.
const MAX_LIST_FILE: u64 = 4 << 20;

/// Beginning of the names of temporary files.
const TEMPORARY: &str = ".sealcast";
/// Age from which a temporary file is nobody's any more.
const LEFTOVER: Duration = Duration::from_secs(3600);

/// Mode of every file that the program creates: its owner alone may read it.
const PRIVATE: u32 = 0o600;

/// From now on, no file or folder that this process creates can be used by other users of the machine, also where a
/// library creates it.
pub fn keep_new_files_private() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Options that create a file with mode 0600. A file that exists already keeps the mode that its owner gave it.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(PRIVATE);
    options
}

/// Create a folder with mode 0700, and the folders above it that are missing.
///
/// # Errors
/// One of them cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Open a file of the program's own: a pipe, a device or a folder in its place would hold the program up, or never end.
///
/// # Errors
/// It cannot be opened, or is no regular file.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// Read a file of the program's own, as far as its first `most` bytes; `None` if there is none. See [`open_regular`].
///
/// # Errors
/// It cannot be read, or is no regular file.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    read_if(path, most, |_| Ok(()))
}

/// As [`read_regular`], of a file that its owner alone may use.
///
/// # Errors
/// Likewise, or others can read or write it.
pub fn read_private(path: &Path, most: u64) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    read_if(path, most, |found| match mode_open_to_others(path, found) {
        Some(mode) => {
            let shown = path.display();
            let why = format!("others can read or write {shown}, mode {mode:04o}; run: chmod 600 {shown}");
            Err(io::Error::new(ErrorKind::PermissionDenied, why))
        }
        None => Ok(()),
    })
}

fn read_if(
    path: &Path,
    most: u64,
    allowed: impl FnOnce(&fs::Metadata) -> io::Result<()>,
) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let file = match open_regular(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    allowed(&file.metadata()?)?;
    // With room for all of it no copy of a secret is left behind.
    let length = file.metadata()?.len().min(most);
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1));
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Write a secret to a new file that only its owner can read: whole or not at all, also if the program is killed.
///
/// # Errors
/// Kind `Keys`: the file exists already, or cannot be written.
pub fn write_secret(path: &Path, secret: &[u8]) -> Result<()> {
    let written = written_beside(path, secret).and_then(|file| {
        file.persist_noclobber(path).map_err(|error| error.error)?;
        File::open(folder_of(path))?.sync_all()
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(
            FailureKind::Keys,
            format!("{} exists already", path.display()),
            "name another file, or move that one away: keys are never overwritten",
        ),
        _ => Failure::new(
            FailureKind::Keys,
            format!("{} cannot be written ({error})", path.display()),
            "choose a place you may write to that has room",
        ),
    })
}

/// Write a file that only its owner can read, in place of the one that may be there: whole or not at all, also if the
/// machine loses power.
///
/// # Errors
/// The file cannot be written; the one that was there is untouched.
pub fn replace_secret(path: &Path, secret: &[u8]) -> io::Result<()> {
    let file = written_beside(path, secret)?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder_of(path))?.sync_all()
}

/// Remove the temporary files of programs that were killed while they wrote a file here: what they hold may be a secret
/// that was withdrawn since. Those of this hour stay: somebody may be writing one. What cannot be removed stays, too.
pub fn remove_leftovers(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_left = |entry: &fs::DirEntry| {
        let own = entry.file_name().to_string_lossy().starts_with(TEMPORARY);
        let found = entry.metadata().ok().filter(|found| own && found.is_file());
        let age = found.and_then(|found| found.modified().ok()?.elapsed().ok());
        age.is_some_and(|age| age > LEFTOVER)
    };
    for entry in entries.filter(is_left) {
        let _ = fs::remove_file(entry.path());
    }
}

/// A new temporary file, which has mode 0600, in the folder of `path`.
fn written_beside(path: &Path, secret: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    // The library's error names the temporary file.
    let named = |error: io::Error| io::Error::from(error.kind());
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(folder_of(path))
        .map_err(named)?;
    file.write_all(secret)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

/// Change the text of a file that only its owner can read, which several programs may do: `change` is given what is
/// there, and returns what is to be there, beside its own result. Beyond 4 MiB it is not read. The folder is made if it
/// is missing. See [`replace_secret`].
///
/// # Errors
/// That of `change`; the file cannot be read or written. What was there is untouched then.
pub fn update_secret<T>(path: &Path, change: impl FnOnce(Option<String>) -> io::Result<(String, T)>) -> io::Result<T> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let _lock = FileLock::wait(open_regular(
        &path.with_extension("lock"),
        options().create(true).append(true),
    )?)?;
    let before = read_regular(path, MAX_LIST_FILE)?;
    let (text, made) = change(before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))?;
    replace_secret(path, text.as_bytes())?;
    Ok(made)
}

/// Read a file that holds a secret, at most 4096 bytes. Refused if anyone but its owner may read or write it. A pipe
/// has no such mode: who opened it holds it.
///
/// # Errors
/// Kind `Keys`: the file is missing, unreadable, open to others, or too long.
pub fn read_secret(path: &Path) -> Result<Zeroizing<String>> {
    let (file, found) = open_secret(path)?;
    match mode_open_to_others(path, &found) {
        Some(mode) => Err(open_to_others(path, mode)),
        None => read_opened(path, file),
    }
}

/// The first line of a secret file, such as a source with a password. Empty lines before it are left out.
///
/// # Errors
/// As [`read_secret`], or there is nothing in it.
pub fn read_secret_line(path: &Path) -> Result<Zeroizing<String>> {
    first_line(path, &read_secret(path)?)
}

/// Read the ticket in the first line of a file, of which `parse` makes one. A ticket that was copied from elsewhere can
/// often be read by others: if the file is this user's own it is used, with a warning, and made its owner's alone.
///
/// # Errors
/// That of `parse`, or as [`read_secret_line`]: others may write the file, or it is somebody else's.
pub fn read_ticket<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T>) -> Result<T> {
    let (file, found) = open_secret(path)?;
    let open = mode_open_to_others(path, &found);
    if let Some(mode) = open.filter(|mode| mode & 0o022 != 0 || found.uid() != geteuid().as_raw()) {
        return Err(open_to_others(path, mode));
    }
    let again = file.try_clone().map_err(|error| unreadable(path, &error))?;
    let ticket = parse(&first_line(path, &read_opened(path, file)?)?)?;
    if let Some(mode) = open {
        // The open file, and only now that it is a ticket: another may have taken its place under the name.
        let closed = again.set_permissions(fs::Permissions::from_mode(PRIVATE));
        closed.map_err(|_| open_to_others(path, mode))?;
        tracing::warn!(
            "{} could be read by others (mode {mode:04o}), and now only by you (0600): if others use this machine, ask \
             for a new ticket",
            path.display()
        );
    }
    Ok(ticket)
}

/// Opens a secret file. Its mode is that of the open file: another file may take its place under the same name.
fn open_secret(path: &Path) -> Result<(File, fs::Metadata)> {
    let opened = File::open(path).and_then(|file| {
        let found = file.metadata()?;
        Ok((file, found))
    });
    opened.map_err(|error| unreadable(path, &error))
}

fn read_opened(path: &Path, file: File) -> Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(MAX_SECRET_FILE as usize + 1));
    let read = file.take(MAX_SECRET_FILE + 1).read_to_string(&mut text);
    if read.map_err(|error| unreadable(path, &error))? as u64 > MAX_SECRET_FILE {
        let what = format!("{} is no key file: it is far too long", path.display());
        return Err(Failure::new(FailureKind::Keys, what, "check the path"));
    }
    Ok(text)
}

fn first_line(path: &Path, text: &str) -> Result<Zeroizing<String>> {
    match text.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => Ok(Zeroizing::new(line.to_owned())),
        None => {
            let what = format!("{} is empty", path.display());
            Err(Failure::new(
                FailureKind::Keys,
                what,
                "what it is for goes into its first line: a ticket, a password, a URL",
            ))
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    let (what, hint) = match error.kind() {
        _ if path.as_os_str().is_empty() => (
            "no file is named".to_owned(),
            "write its name behind the @, as in @ticket.txt",
        ),
        ErrorKind::IsADirectory => (format!("{shown} is a directory"), "name the file in it"),
        ErrorKind::NotFound => (format!("{shown} does not exist"), "check the path"),
        _ => (
            format!("{shown} cannot be read ({error})"),
            "check its path and permissions",
        ),
    };
    Failure::new(FailureKind::Keys, what, hint)
}

fn open_to_others(path: &Path, mode: u32) -> Failure {
    let shown = path.display();
    let what = format!("{shown} can be read or written by others (mode {mode:04o})");
    Failure::new(FailureKind::Keys, what, format!("run: chmod 600 {shown}"))
}

/// The mode of a secret file if it opens it to others. systemd gives a service its credentials as files of root,
/// readable through an access control list, whose mask stands where the group's bits are: there the group may read.
fn mode_open_to_others(path: &Path, found: &fs::Metadata) -> Option<u32> {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY").filter(|folder| !folder.is_empty());
    let others = match folder.is_some_and(|folder| path.starts_with(folder)) && found.uid() == 0 {
        true => 0o037,
        false => 0o077,
    };
    let mode = found.permissions().mode() & 0o7777;
    (found.is_file() && mode & others != 0).then_some(mode)
}

/// Read a list of whom to admit, at most 4 MiB. Others may read it; refused if others may write it, because they could
/// admit themselves.
///
/// # Errors
/// The file cannot be read, others may write it, or it is too long.
pub fn read_list(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let mode = found.permissions().mode();
    if found.is_file() && mode & 0o022 != 0 {
        let (mode, shown) = (mode & 0o7777, path.display());
        let why = format!("others may write it, mode {mode:04o}; run: chmod go-w {shown}");
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    let mut text = String::new();
    match file.take(MAX_LIST_FILE + 1).read_to_string(&mut text)? as u64 {
        0..=MAX_LIST_FILE => Ok(text),
        _ => Err(io::Error::new(ErrorKind::FileTooLarge, "it is longer than 4 MiB")),
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own file");
    }

    #[test]
    fn what_killed_programs_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| folder.path().join(name);
        let long_ago = std::time::SystemTime::now() - 2 * LEFTOVER;
        for (name, is_old) in [(".sealcastAbCdEf", true), (".sealcastGhIjKl", false), ("invites", true)] {
            let file = File::create(at(name)).expect("created");
            if is_old {
                file.set_modified(long_ago).expect("our own file");
            }
        }
        fs::create_dir(at(".sealcastFolder")).expect("made");
        remove_leftovers(folder.path());
        let left = [".sealcastAbCdEf", ".sealcastGhIjKl", "invites", ".sealcastFolder"].map(|name| at(name).exists());
        assert_eq!(left, [false, true, true, true]);
        remove_leftovers(&at("nowhere"));
    }

    #[test]
    fn a_secret_is_read_only_from_a_file_that_its_owner_alone_may_use() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), "hush\n").expect("written");
        for mode in [0o600, 0o400] {
            set_mode(file.path(), mode);
            assert_eq!(read_secret(file.path()).expect("private").as_str(), "hush\n");
        }
        for mode in [0o640, 0o620, 0o604, 0o602, 0o644, 0o666] {
            set_mode(file.path(), mode);
            let failure = read_secret(file.path()).expect_err("open to others");
            let said = failure.to_string();
            assert_eq!(failure.kind, FailureKind::Keys);
            assert!(
                said.contains(&format!("mode {mode:04o}")) && said.contains("chmod 600"),
                "{said}"
            );
            assert!(!said.contains("hush"), "{said}");
        }
    }

    #[test]
    fn a_line_is_the_first_of_its_file() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let line = |content: &str| {
            fs::write(file.path(), content).expect("written");
            read_secret_line(file.path())
        };
        for content in ["a secret \nsecond\n", "\n \na secret \n"] {
            assert_eq!(line(content).expect("a line").as_str(), "a secret ");
        }
        for content in ["", "\n \n", &"hush".repeat(2000)] {
            let failure = line(content).expect_err("no line");
            assert!(!failure.to_string().contains("hush"), "{failure}");
        }
        let missing = read_secret_line(Path::new("/nonexistent")).expect_err("no file");
        assert!(missing.what.contains("/nonexistent"), "{missing}");
        for (path, words) in [("", "no file is named"), ("/", "is a directory")] {
            let failure = read_secret_line(Path::new(path)).expect_err("no file");
            assert!(failure.what.contains(words), "{failure}");
        }
    }

    #[test]
    fn a_ticket_that_others_can_read_becomes_its_owner_s_alone_once_it_is_one() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let mode = || fs::metadata(file.path()).expect("there").permissions().mode() & 0o777;
        let read = |parse: fn(&str) -> Result<String>| read_ticket(file.path(), parse);
        fs::write(file.path(), "a ticket\nmore\n").expect("written");
        for before in [0o644, 0o640, 0o604, 0o444, 0o600, 0o400] {
            set_mode(file.path(), before);
            let refused = read(|_| Err(Failure::new(FailureKind::Keys, "that is no ticket", "x")));
            refused.expect_err("no ticket");
            assert_eq!(mode(), before, "what is no ticket stays as it is");
            assert_eq!(read(|line| Ok(line.to_owned())).expect("a ticket"), "a ticket");
            assert_eq!(mode(), if before & 0o077 == 0 { before } else { 0o600 }, "{before:o}");
        }
        for before in [0o620, 0o602, 0o666] {
            set_mode(file.path(), before);
            let failure = read(|line| Ok(line.to_owned())).expect_err("others may put another one there");
            assert!(failure.hint.contains("chmod 600"), "{failure}");
            assert_eq!(mode(), before);
        }
    }

    #[test]
    fn a_list_may_be_read_by_others_but_not_written() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), "peers").expect("written");
        for mode in [0o600, 0o644, 0o444] {
            set_mode(file.path(), mode);
            assert_eq!(read_list(file.path()).expect("not writable"), "peers");
        }
        for mode in [0o666, 0o620, 0o602] {
            set_mode(file.path(), mode);
            let error = read_list(file.path()).expect_err("writable").to_string();
            assert!(
                error.contains(&format!("{mode:04o}")) && error.contains("chmod go-w"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_created_is_private() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (inner, file) = (folder.path().join("a/b"), folder.path().join("a/b/file"));
        create_folder(&inner).expect("created");
        drop(options().write(true).create(true).open(&file).expect("created"));
        let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
        assert_eq!((mode(&inner), mode(&file)), (0o700, 0o600));
        write_secret(&file, b"x").expect_err("it exists already");
        assert_eq!(fs::read(&file).expect("readable"), b"");
        let secret = folder.path().join("secret");
        write_secret(&secret, b"hush").expect("new");
        assert_eq!(
            (mode(&secret), fs::read(&secret).expect("readable")),
            (0o600, b"hush".to_vec())
        );
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 2, "nothing stays beside it");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (pipe, device) = (folder.path().join("pipe"), folder.path().join("device"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        std::os::unix::fs::symlink("/dev/zero", &device).expect("a link");
        for path in [&pipe, &device, &folder.path().to_owned()] {
            assert!(read_regular(path, 10).is_err(), "{}", path.display());
            let changed = update_secret(path, |_| Ok((String::new(), ())));
            assert!(changed.is_err(), "{}", path.display());
        }
        fs::rename(&pipe, folder.path().join("file.lock")).expect("moved");
        let locked = update_secret(&folder.path().join("file"), |_| Ok((String::new(), ())));
        assert!(locked.is_err());
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("file");
        fs::write(&file, b"\xff\xfe").expect("written");
        let before = update_secret(&file, |text| Ok(("new".to_owned(), text)));
        assert_eq!(before.expect("it is writable").as_deref(), Some("\u{fffd}\u{fffd}"));
        assert_eq!(fs::read(&file).expect("readable"), b"new");
    }
}
