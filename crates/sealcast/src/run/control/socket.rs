//! The socket at which a running program takes commands, and who may send them.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::caller::{keep_descendants, refusal};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::publisher::{CONTROL, control_socket};
use crate::meter::telling::Telling;
use crate::private_file::create_folder;
use crate::run::control::{Commands, Controlled, converse};
use crate::run::session::ways::Ways;

/// Maximum number of connections at once; further ones wait.
const MAX_CONNECTIONS: usize = 8;
/// Names the folder that systemd makes for a service while it runs, and perhaps further ones behind colons.
const RUNTIME: &str = "RUNTIME_DIRECTORY";

/// A socket for commands. Dropping it removes its file.
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Link that leads to it from the end's folder, if it is elsewhere.
    link: Option<PathBuf>,
    /// True if the user said where it is to be.
    by_hand: bool,
    /// The ways to this end, for invites.
    ways: Option<Arc<Ways>>,
}

/// Connects to a socket, if that needs no waiting.
///
/// # Errors
/// Nobody listens there, or who does has no room for another connection now (`WouldBlock`).
pub fn connect_at_once(path: &Path) -> io::Result<StdStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SockAddr::unix(path)?)?;
    socket.set_nonblocking(false)?;
    Ok(OwnedFd::from(socket).into())
}

impl ControlSocket {
    /// Create the socket, accessible to this user only: where the user wants it, or else where systemd keeps what
    /// belongs to a running service, or else in the folder of this end, from which a link leads to it otherwise. If
    /// the user did not ask for it and there is no place for it, the log says so once, and there is none.
    ///
    /// # Errors
    /// Kind `Usage` for a socket that the user asked for: the path is taken by something else, a running program
    /// listens there, or it cannot be made.
    pub fn open(by_hand: Option<&Path>, folder: Option<&Path>) -> Result<Option<Self>> {
        keep_descendants();
        if let Some(path) = by_hand {
            let mut socket = Self::bind(path, false)?;
            socket.by_hand = true;
            return Ok(Some(socket.linked(folder)));
        }
        let runtime = std::env::var(RUNTIME).ok().filter(|folders| !folders.is_empty());
        let runtime = runtime.map(|folders| PathBuf::from(folders.split(':').next().unwrap_or_default()).join(CONTROL));
        let own = folder.map(control_socket);
        let mut why = "there is no folder of keys to make one in".to_owned();
        for path in runtime.into_iter().chain(own) {
            match in_safe_folder(&path).and_then(|()| Self::bind(&path, true)) {
                Ok(socket) => return Ok(Some(socket.linked(folder))),
                Err(failure) => why = failure.what,
            }
        }
        tracing::warn!(
            "it runs without a control socket: {why}; `sealcast control`, `invite` and `peers` do not reach it while \
             it runs, unless --control PATH makes one elsewhere"
        );
        Ok(None)
    }

    /// Create the socket. It replaces a socket file left behind by an earlier program, or its link to another place if
    /// `links` says that one may be there.
    ///
    /// # Errors
    /// Kind `Usage` if `path` is taken by something else, if a running program listens there, or if the socket cannot
    /// be made.
    fn bind(path: &Path, links: bool) -> Result<Self> {
        if let Ok(found) = fs::symlink_metadata(path) {
            let kind = found.file_type();
            if !(kind.is_socket() || links && kind.is_symlink()) {
                let what = format!("{} is there already and is no socket", path.display());
                return Err(Failure::new(
                    FailureKind::Usage,
                    what,
                    "name another path for --control",
                ));
            }
            // One that has no room for another connection listens as well.
            let found = connect_at_once(path);
            if found.is_ok() || found.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                let what = format!("a running program listens at {} already", path.display());
                let hint = "stop it, or name another path for --control";
                return Err(Failure::new(FailureKind::Usage, what, hint));
            }
            fs::remove_file(path).map_err(|error| unusable(path, &error))?;
        }
        let listener = listen(path).map_err(|error| unusable(path, &error))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            link: None,
            by_hand: false,
            ways: None,
        })
    }

    /// Lets it invite others to this end by these ways.
    pub fn inviting(mut self, ways: Arc<Ways>) -> Self {
        self.ways = Some(ways);
        self
    }

    /// Lets commands find the socket in the folder of this end, where they look for it. Nothing else fails without.
    fn linked(mut self, folder: Option<&Path>) -> Self {
        let link = folder.map(control_socket).filter(|link| *link != self.path);
        let made = link.clone().map(|link| -> io::Result<PathBuf> {
            let target = std::path::absolute(&self.path)?;
            create_folder(link.parent().unwrap_or(Path::new(".")))?;
            match fs::symlink_metadata(&link) {
                Ok(found) if found.file_type().is_socket() || found.file_type().is_symlink() => fs::remove_file(&link)?,
                _ => {}
            }
            symlink(target, &link)?;
            Ok(link)
        });
        match made {
            Some(Ok(link)) => self.link = Some(link),
            Some(Err(error)) => tracing::info!(socket = %self.path.display(), %error, "only --socket finds the socket"),
            None => {}
        }
        self
    }

    /// Serve commands until dropped. Dropping it also closes the open connections, so they keep no reference to
    /// `end`.
    pub(crate) async fn serve(mut self, end: Arc<dyn Controlled>) {
        let commands = Arc::new(Commands {
            end,
            by_hand: self.by_hand,
            ways: self.ways.take(),
        });
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        let (mut failed, mut refused) = (Telling::default(), Telling::default());
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let accepted = self.listener.accept().await;
            match accepted.and_then(|(stream, _)| Ok((refusal(&stream)?, stream))) {
                Ok((None, stream)) => {
                    let commands = Arc::clone(&commands);
                    connections.spawn(async move {
                        // An error here means only that the client left before it had its answer.
                        let _ = converse(stream, &commands).await;
                        drop(place);
                    });
                }
                Ok((Some(why), stream)) => {
                    if let Some(total) = refused.count(Instant::now()) {
                        tracing::warn!(total, "a command was refused: {why}");
                    }
                    turn_away(stream, why).await;
                }
                Err(error) => {
                    if let Some(total) = failed.count(Instant::now()) {
                        tracing::warn!(total, "a control connection could not be accepted: {error}");
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // They may have been removed by hand.
        let _ = fs::remove_file(&self.path);
        if let Some(link) = &self.link {
            let _ = fs::remove_file(link);
        }
    }
}

/// Tell a caller that it may not command this program. So few bytes always fit into a new socket.
async fn turn_away(mut stream: UnixStream, why: &str) {
    // It may have left already.
    let _ = stream.write_all(format!("error: {why}\n").as_bytes()).await;
}

/// Checks that nobody else can put a socket of theirs into the folder, which is made if it is missing.
fn in_safe_folder(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let found = create_folder(folder).and_then(|()| fs::metadata(folder));
    let found = found.map_err(|error| unusable(path, &error))?;
    let owner = found.uid() == geteuid().as_raw() || found.uid() == 0;
    match owner && found.mode() & 0o022 == 0 {
        true => Ok(()),
        false => {
            let what = format!("others may write to {}", folder.display());
            Err(Failure::new(FailureKind::Usage, what, "make it yours alone: chmod 700"))
        }
    }
}

/// Create the listening socket. Nobody can connect before `listen`, and the permissions are restricted before that.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    socket.listen(MAX_CONNECTIONS as i32)?;
    socket.set_nonblocking(true)?;
    UnixListener::from_std(OwnedFd::from(socket).into())
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    let what = format!("no control socket can be made at {} ({error})", path.display());
    let hint = "name a path in a directory that you may write to, of about 100 bytes at most";
    Failure::new(FailureKind::Usage, what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(made: Result<ControlSocket>) -> String {
        made.err().expect("no socket").what
    }

    #[tokio::test]
    async fn a_socket_is_its_users_alone_and_leaves_nothing_behind() {
        let home = tempfile::tempdir().expect("a folder");
        let (folder, elsewhere) = (home.path().join("publishers/front"), home.path().join("elsewhere"));
        let own = ControlSocket::open(None, Some(&folder))
            .expect("no failure")
            .expect("a socket");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!((mode(&folder), mode(&own.path)), (0o700, 0o600));
        assert_eq!(own.path, folder.join("control"));
        drop(own);
        let by_hand = ControlSocket::open(Some(&elsewhere), Some(&folder))
            .expect("no failure")
            .expect("a socket");
        assert!(by_hand.by_hand);
        StdStream::connect(folder.join("control")).expect("a link leads to it");
        drop(by_hand);
        assert!(fs::symlink_metadata(folder.join("control")).is_err() && !elsewhere.exists());
    }

    #[tokio::test]
    async fn where_no_socket_can_be_there_is_none_and_what_is_there_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let long = home.path().join("x".repeat(200));
        assert!(ControlSocket::open(None, Some(&long)).expect("no failure").is_none());
        assert!(ControlSocket::open(Some(&long.join("control")), None).is_err());
        let file = home.path().join("control");
        fs::write(&file, "mine").expect("written");
        assert!(
            ControlSocket::open(None, Some(home.path()))
                .expect("no failure")
                .is_none()
        );
        assert_eq!(fs::read(&file).expect("it is there"), b"mine");
        assert!(said(ControlSocket::bind(&file, true)).contains("no socket"));
        let shared = home.path().join("shared");
        create_folder(&shared).expect("made");
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).expect("ours");
        assert!(ControlSocket::open(None, Some(&shared)).expect("no failure").is_none());
        assert!(ControlSocket::open(None, None).expect("no failure").is_none());
    }
}
