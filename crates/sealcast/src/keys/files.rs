//! Identity files and other secrets read from files.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sealcast_proto::keys::Identity;
use zeroize::Zeroizing;

use super::entropy;
use crate::failure::{Failure, FailureKind, Result};

/// Maximum length in bytes of a secret file: an identity has 73 bytes, a ticket at most 512.
const MAX_SECRET_FILE: u64 = 4096;

/// Directory for identities and allow lists: `$SEALCAST_HOME`, `$XDG_CONFIG_HOME/sealcast` or `~/.config/sealcast`.
///
/// # Errors
/// None of the variables is set.
pub fn home() -> Result<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("SEALCAST_HOME")
        .or_else(|| set("XDG_CONFIG_HOME").map(|path| path.join("sealcast")))
        .or_else(|| set("HOME").map(|path| path.join(".config/sealcast")))
        .ok_or_else(|| {
            Failure::new(
                FailureKind::Keys,
                "there is no home directory for keys",
                "set SEALCAST_HOME to a directory",
            )
        })
}

/// Create an identity and write it to a new file with mode 0600.
///
/// # Errors
/// The file exists already (it is never overwritten), or cannot be written.
pub fn create_identity(path: &Path) -> Result<Identity> {
    let identity = entropy::identity()?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|error| {
            let what = format!("the directory {} cannot be made ({error})", parent.display());
            Failure::new(FailureKind::Keys, what, "choose a place you may write to")
        })?;
    }
    write_secret(path, identity.reveal_file_text().as_bytes())?;
    Ok(identity)
}

/// Write a secret to a new file that only its owner can read.
///
/// # Errors
/// The file exists already, or cannot be written.
pub fn write_secret(path: &Path, secret: &[u8]) -> Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(secret).and_then(|()| file.sync_all()));
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
    let directory = path.parent().unwrap_or(Path::new("."));
    // A temporary file has mode 0600.
    let mut file = tempfile::Builder::new().prefix(".sealcast").tempfile_in(directory)?;
    file.write_all(secret)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

/// Make a directory, with its parents, that only its owner can read; one that is there stays as it is.
///
/// # Errors
/// It cannot be made.
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Read a file that holds a secret. Refused if anyone but its owner can read it.
///
/// # Errors
/// The file is missing, unreadable, readable by others, or far too long.
pub fn read_secret(path: &Path) -> Result<Zeroizing<String>> {
    let fail = |what: String, hint: &str| Failure::new(FailureKind::Keys, what, hint);
    let shown = path.display();
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => fail(
            format!("{shown} does not exist"),
            "check the path; an identity is made with: sealcast keygen FILE",
        ),
        _ => fail(
            format!("{shown} cannot be read ({error})"),
            "check its path and permissions",
        ),
    })?;
    let mode = metadata.permissions().mode();
    if metadata.is_file() && mode & 0o077 != 0 {
        let what = format!("{shown} can be read by others (mode {:04o})", mode & 0o7777);
        return Err(fail(what, &format!("run: chmod 600 {shown}")));
    }
    if metadata.len() > MAX_SECRET_FILE {
        return Err(fail(
            format!("{shown} is no key file: it is far too long"),
            "check the path",
        ));
    }
    let read = fs::read_to_string(path).map(Zeroizing::new);
    read.map_err(|error| {
        fail(
            format!("{shown} cannot be read ({error})"),
            "check its path and permissions",
        )
    })
}

/// Read an identity file.
///
/// # Errors
/// As [`read_secret`], or the file does not hold an identity.
pub fn read_identity(path: &Path) -> Result<Identity> {
    let text = read_secret(path)?;
    Identity::from_file_text(&text).map_err(|error| {
        let what = format!("{} is not an identity file: {error}", path.display());
        Failure::new(FailureKind::Keys, what, "make one with: sealcast keygen FILE")
    })
}

/// The identity to use: from the named file, from the systemd credential `sealcast-identity`, or from the default
/// file, which is created if it does not exist.
///
/// # Errors
/// As [`read_identity`] and [`create_identity`].
pub fn identity_or_default(path: Option<&Path>) -> Result<Identity> {
    if let Some(path) = path {
        return read_identity(path);
    }
    let credential = std::env::var_os("CREDENTIALS_DIRECTORY").map(|dir| Path::new(&dir).join("sealcast-identity"));
    if let Some(path) = credential.filter(|path| path.exists()) {
        return read_identity(&path);
    }
    let path = home()?.join("identity");
    if path.exists() {
        return read_identity(&path);
    }
    let identity = create_identity(&path)?;
    tracing::info!(file = %path.display(), peer = %identity.peer_id(), "made a new identity");
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_its_file_and_nobody_else_can_read_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("deep/identity");
        let made = create_identity(&path).expect("made");
        assert_eq!(fs::metadata(&path).expect("exists").permissions().mode() & 0o777, 0o600);
        assert_eq!(read_identity(&path).expect("read").peer_id(), made.peer_id());
        assert!(create_identity(&path).is_err_and(|error| error.what.contains("exists already")));
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("identity");
        create_identity(&path).expect("made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("chmod");
        let error = read_identity(&path).err().expect("refused");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
