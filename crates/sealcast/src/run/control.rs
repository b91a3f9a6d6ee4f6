//! The control socket: commands to a running publishing end, one per line, from any process that may write to the
//! socket file, which only its owner may.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::unit::Selection;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::away::{Away, utc};
use super::runtime_settings::{THIS, announce};
use super::{Admission, Observation, RuntimeSettings};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::peers::PeersCommand;
use crate::meter::telling::Telling;

/// Maximum length of a command in bytes, including the line end.
pub const MAX_COMMAND: usize = 256;
/// Time limit for each command on a connection, and for taking its answer.
const COMMAND_PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of connections at once; further ones wait.
const MAX_CONNECTIONS: usize = 8;

const HELP: &str = "encrypt all|none|rate:P|keyframes|headers|headers+keyframes|level:N, N from 1 to 4 \
                    (a gateway: the first three); \
                    rekey: new keys for every viewer; keyframe: ask the source for one; status; \
                    peers list, peers allow PEER-ID [COMMENT], peers remove PEER-ID, \
                    peers withdraw INVITE|all [with-peers]; help";

/// A publishing end, as seen by its control socket.
pub(super) trait Controlled: Send + Sync + 'static {
    /// The settings that can be changed.
    fn settings(&self) -> &RuntimeSettings;

    fn observation(&self) -> &Observation;

    /// Whom it admits.
    fn admission(&self) -> &Admission;

    /// Number of viewers.
    fn viewers(&self) -> usize;

    /// Number of frames from its source so far.
    fn frames(&self) -> u64;

    /// Since when its source is there, or away, in ns since 1970, and why; `None` of an end with many sources.
    fn standing(&self) -> Option<(u64, Option<Arc<Away>>)> {
        None
    }

    /// Returns the reason if the end cannot encrypt by that selection.
    fn check(&self, selection: Selection) -> std::result::Result<(), &'static str>;

    /// Request a keyframe from the source. Returns the reason if that is impossible.
    fn request_keyframe(&self) -> std::result::Result<(), &'static str>;
}

/// Serve commands; never returns.
pub(super) async fn commands(socket: Option<ControlSocket>, end: Arc<dyn Controlled>) -> std::convert::Infallible {
    if let Some(socket) = socket {
        socket.serve(end).await;
    }
    std::future::pending().await
}

/// A socket for commands. Dropping it removes its file.
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Create the socket, accessible to this user only. It replaces a socket file left behind by an earlier program.
    ///
    /// # Errors
    /// Kind `Usage` if `path` is taken by something else, if a running program listens there, or if the socket cannot
    /// be made.
    pub fn bind(path: &Path) -> Result<Self> {
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                let what = format!("{} is there already and is no socket", path.display());
                return Err(Failure::new(
                    FailureKind::Usage,
                    what,
                    "name another path for --control",
                ));
            }
            if StdStream::connect(path).is_ok() {
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
        })
    }

    /// Serve commands until dropped. Dropping it also closes the open connections, so they keep no reference to
    /// `end`.
    async fn serve(self, end: Arc<dyn Controlled>) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        let mut failed = Telling::default();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let end = Arc::clone(&end);
                    connections.spawn(async move {
                        // An error here means only that the client left before it had its answer.
                        let _ = converse(stream, &*end).await;
                        drop(place);
                    });
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
        // It may have been removed by hand.
        let _ = fs::remove_file(&self.path);
    }
}

/// Create the listening socket. Nobody can connect before `listen`, and the permissions are restricted before that.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    socket.listen(MAX_CONNECTIONS as i32)?;
    socket.set_nonblocking(true)?;
    UnixListener::from_std(std::os::fd::OwnedFd::from(socket).into())
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    let what = format!("no control socket can be made at {} ({error})", path.display());
    let hint = "name a path in a directory that you may write to, of about 100 bytes at most";
    Failure::new(FailureKind::Usage, what, hint)
}

/// Answer the commands of one connection, one per line.
async fn converse(stream: UnixStream, end: &dyn Controlled) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::with_capacity(MAX_COMMAND, reading);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut lines).take(MAX_COMMAND as u64);
        let read = tokio::time::timeout(COMMAND_PATIENCE, bounded.read_until(b'\n', &mut line));
        let Ok(read) = read.await else { return Ok(()) };
        if read? == 0 {
            return Ok(());
        }
        if line.len() == MAX_COMMAND && !line.ends_with(b"\n") {
            let refused = format!("error: a command has at most {MAX_COMMAND} bytes\n");
            return writing.write_all(refused.as_bytes()).await;
        }
        let mut answer = match answer(String::from_utf8_lossy(&line).trim(), end) {
            Ok(done) => format!("ok {done}"),
            Err(why) => format!("error: {why}"),
        };
        answer.push('\n');
        let written = tokio::time::timeout(COMMAND_PATIENCE, writing.write_all(answer.as_bytes()));
        let Ok(written) = written.await else { return Ok(()) };
        written?;
    }
}

/// Run a command. Returns the text of the answer: the effect, or the error. An answer of several lines begins with a
/// line `N lines`, and the N lines follow.
fn answer(command: &str, end: &dyn Controlled) -> Result<String, String> {
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    match (verb, rest.trim()) {
        ("encrypt", "") => Err("encrypt what? help shows it".to_owned()),
        ("encrypt", selection) => {
            let selection = choose(end, selection)?;
            Ok(format!("encrypt {selection}"))
        }
        ("rekey", "") => {
            end.settings().rekey();
            Ok(format!("rekey with {} viewers", end.viewers()))
        }
        ("keyframe", "") => {
            end.request_keyframe()?;
            Ok("keyframe requested".to_owned())
        }
        ("status", "") => Ok(status(end)),
        ("peers", command) => {
            let command = PeersCommand::parse(command).map_err(|failure| failure.to_string())?;
            let answer = end
                .admission()
                .command(&command)
                .map_err(|failure| failure.to_string())?;
            Ok(match answer.lines().count() {
                0 | 1 => answer,
                lines => format!("{lines} lines\n{answer}"),
            })
        }
        ("help", "") => Ok(HELP.to_owned()),
        ("", _) => Err("an empty command; help shows them".to_owned()),
        // Do not echo the command: it may contain anything, and answers end up in terminals.
        _ => Err("there is no such command; help shows them".to_owned()),
    }
}

/// Switch to the selection that a user writes. Returns why not.
pub(super) fn choose(end: &dyn Controlled, selection: &str) -> Result<Selection, String> {
    let selection: Selection = selection.parse().map_err(|error| format!("{error}"))?;
    end.check(selection)?;
    select(end, selection);
    Ok(selection)
}

fn select(end: &dyn Controlled, selection: Selection) {
    if end.settings().selection() != selection {
        end.settings().select(selection);
        announce(THIS, selection);
        end.observation().selection(selection);
    }
}

fn status(end: &dyn Controlled) -> String {
    let metrics = &end.observation().metrics;
    let totals = metrics.totals();
    let mut text = format!("encrypt={}", end.settings().selection());
    // Writing into a string cannot fail.
    let _ = write!(
        text,
        " viewers={} frames={} epoch={} records_out={} records_in_clear={}",
        end.viewers(),
        end.frames(),
        metrics.epoch(),
        totals.records_sealed,
        totals.records_sealed_in_clear,
    );
    let _ = match end.standing() {
        None => Ok(()),
        Some((_, None)) => write!(text, " camera=on"),
        // The reason is last, since it has spaces.
        Some((since, Some(away))) => write!(text, " camera=off since={} why={}", utc(since), away.reason),
    };
    text
}
