//! Identity files, and where they are.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use sealcast_proto::keys::{Identity, PeerId};

use super::entropy;
use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::{create_folder, read_secret, write_secret};

/// Name of the identity in the folder of a publisher.
pub(super) const IDENTITY: &str = "identity";

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

/// An end of this program that has an identity of its own, because an end refuses a peer with its own identity: so all
/// of them can run on one account, and each can be removed from a list of peers without the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum End {
    /// `publish`.
    Publisher,
    /// `watch` and `probe`.
    Viewer,
    /// `gateway camera`.
    GatewayCamera,
    /// `gateway viewer`.
    GatewayViewer,
    /// `archive record`.
    Archive,
}

impl End {
    /// Every end.
    pub const ALL: [Self; 5] = [
        Self::Publisher,
        Self::Viewer,
        Self::GatewayCamera,
        Self::GatewayViewer,
        Self::Archive,
    ];

    /// Its identity file in the folder of keys: of an end that has a name, that of its default name.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Publisher => "publishers/camera/identity",
            Self::Viewer => "identity-viewer",
            Self::GatewayCamera => "publishers/gateway/identity",
            Self::GatewayViewer => "identity-gateway-viewer",
            Self::Archive => "identity-archive",
        }
    }

    /// The name of its folder beneath `publishers` unless the user gives one; `None` for an end without one.
    pub const fn default_name(self) -> Option<&'static str> {
        match self {
            Self::Publisher => Some("camera"),
            Self::GatewayCamera => Some("gateway"),
            Self::Viewer | Self::GatewayViewer | Self::Archive => None,
        }
    }

    /// The file that had the identity of such an end in earlier versions, one for all of an account.
    pub const fn former_file_name(self) -> Option<&'static str> {
        match self {
            Self::Publisher => Some("identity-publisher"),
            Self::GatewayCamera => Some("identity-gateway-camera"),
            Self::Viewer | Self::GatewayViewer | Self::Archive => None,
        }
    }

    /// Its default identity file.
    ///
    /// # Errors
    /// As [`home`].
    pub fn file(self) -> Result<PathBuf> {
        Ok(home()?.join(self.file_name()))
    }
}

/// The identity file of the end of this account that has this peer id.
pub fn file_of(peer: &PeerId) -> Option<PathBuf> {
    let mut files = End::ALL.iter().filter_map(|end| end.file().ok());
    files.find(|file| file.exists() && read_identity(file).is_ok_and(|identity| identity.peer_id() == *peer))
}

/// Name of the one identity file that all ends of an account had before each had its own.
const SHARED_IDENTITY: &str = "identity";

/// Advice about the identity file that all ends shared, if it lies in this folder of keys.
pub fn shared_identity(home: &Path) -> Option<String> {
    let old = home.join(SHARED_IDENTITY);
    old.exists().then(|| {
        let (old, home) = (old.display(), home.display());
        let names = End::ALL.map(End::file_name);
        format!(
            "{old} is not used: it was the identity of all ends, and each has its own now; to keep its peer id for one \
             end, run: mv -i {old} {home}/{}, or another end's: {}; else delete it",
            names[0],
            names[1..].join(", "),
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
        create_folder(parent).map_err(|error| {
            let what = format!("the directory {} cannot be made ({error})", parent.display());
            Failure::new(FailureKind::Keys, what, "choose a place you may write to")
        })?;
    }
    write_secret(path, identity.reveal_file_text().as_bytes())?;
    Ok(identity)
}

/// Read an identity file.
///
/// # Errors
/// As [`read_secret`], or the file does not hold an identity.
pub fn read_identity(path: &Path) -> Result<Identity> {
    tracing::debug!(file = %path.display(), "the identity is read");
    let text = read_secret(path).map_err(|mut failure| {
        if !path.exists() {
            failure.hint = "check the path; an identity is made with: sealcast keygen FILE".to_owned();
        }
        failure
    })?;
    Identity::from_file_text(&text).map_err(|error| {
        let what = format!("{} is not an identity file: {error}", path.display());
        Failure::new(
            FailureKind::Keys,
            what,
            "move it away, and make one with: sealcast keygen FILE",
        )
    })
}

/// The file of the identity that the user has set: the named one, or the systemd credential `sealcast-identity`.
pub fn identity_file(named: Option<&Path>) -> Option<PathBuf> {
    let credential = || {
        let folder = std::env::var_os("CREDENTIALS_DIRECTORY")?;
        Some(Path::new(&folder).join("sealcast-identity")).filter(|path| path.exists())
    };
    named.map(Path::to_owned).or_else(credential)
}

/// The identity in this file, which is made if it does not exist.
///
/// # Errors
/// As [`read_identity`] and [`create_identity`].
pub fn identity_at(path: &Path) -> Result<Identity> {
    if let Some(words) = home().ok().as_deref().and_then(shared_identity) {
        tracing::warn!("{words}");
    }
    if path.exists() {
        return read_identity(path);
    }
    let identity = match create_identity(path) {
        // Another program of this account has made it meanwhile.
        Err(_) if path.exists() => return read_identity(path),
        made => made?,
    };
    tracing::info!(file = %path.display(), peer = %identity.peer_id(), "made a new identity");
    Ok(identity)
}

/// The identity of an end without a name: that which the user has set, or else that in the default file of this end.
///
/// # Errors
/// As [`read_identity`] and [`create_identity`].
pub fn identity_or_default(named: Option<&Path>, end: End) -> Result<Identity> {
    match identity_file(named) {
        Some(path) => read_identity(&path),
        None => identity_at(&end.file()?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
    fn each_end_has_a_file_of_its_own() {
        let mut names = End::ALL.map(End::file_name).to_vec();
        names.push(SHARED_IDENTITY);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), End::ALL.len() + 1);
    }

    #[test]
    fn an_identity_that_all_ends_shared_is_named_with_what_to_do() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(shared_identity(dir.path()), None);
        create_identity(&dir.path().join(SHARED_IDENTITY)).expect("made");
        let words = shared_identity(dir.path()).expect("it is there");
        let shown = dir.path().display();
        assert!(
            words.contains(&format!("mv -i {shown}/identity {shown}/publishers/camera/identity")),
            "{words}"
        );
        assert!(words.contains("identity-gateway-viewer"), "{words}");
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
