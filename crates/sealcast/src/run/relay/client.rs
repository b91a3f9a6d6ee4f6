//! A relay client: the program that takes objects to a relay or from it. It gets no secret but the relay's address.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Once;
use std::time::Instant;
use std::{fmt, io, thread};

use sealcast_proto::words::plain;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::message::{self, RelayEvent, Track};
use super::sessions::Said;
use super::url::RelayUrl;
use crate::codec::fence::{self, Raised};
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::telling::Telling;

/// The relay client's name.
const PROGRAM: &str = "sealcast-moq";
/// Messages of a relay client that may wait. Behind them it waits itself.
const MAX_WAITING: usize = 16;
/// Time in milliseconds after which the rest of a group of pictures is left out, if a later one is there.
const PATIENCE_MS: u64 = 500;
/// Maximum length of one message on the relay client's standard error.
const MAX_WORDS: usize = 4096;
/// Variables of the environment that a relay client is given: where programs and certificates are.
const VARIABLES: [&str; 4] = ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "RUST_LOG"];

/// Task of a relay client.
#[derive(Clone, Copy)]
pub enum ClientRole {
    /// It takes objects to the relay.
    Publish,
    /// It brings objects from the relay.
    Watch,
}

/// A running client. It is killed when this is dropped.
pub struct RelayClient {
    child: Child,
    input: BufWriter<ChildStdin>,
    events: mpsc::Receiver<RelayEvent>,
}

impl RelayClient {
    /// Looks whether there is a relay client to start.
    ///
    /// # Errors
    /// There is none, kind `Usage`.
    pub fn check_installed() -> Result<()> {
        match program().is_file() {
            true => Ok(()),
            false => Err(does_not_start(&"there is none beside sealcast, nor in PATH")),
        }
    }

    /// Starts a relay client for a relay.
    ///
    /// # Errors
    /// There is no such program, or it does not start.
    pub async fn start(relay: &RelayUrl, role: ClientRole) -> Result<Self> {
        let program = program();
        let mut command = Command::new(&program);
        command.env_clear();
        let given = |name: &&str| std::env::var_os(name).map(|value| (OsString::from(name), value));
        command.envs(VARIABLES.iter().filter_map(given));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.kill_on_drop(true);
        let mut child = start_fenced(command, program).await?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(words)) = pipes else {
            return Err(Failure::new(
                FailureKind::Internal,
                format!("{PROGRAM} has no pipes"),
                "please report this",
            ));
        };
        let (tell, events) = mpsc::channel(MAX_WAITING);
        tokio::spawn(read_events(output, tell));
        tokio::spawn(log_words(words, relay.to_string()));
        let mut client = Self {
            child,
            input: BufWriter::new(input),
            events,
        };
        let role = match role {
            ClientRole::Publish => "publish",
            ClientRole::Watch => "watch",
        };
        // If this fails, it has ended, and its end is the next event.
        let _ = client
            .write(&[&message::open(&relay.settings(role, PATIENCE_MS))])
            .await;
        Ok(client)
    }

    /// Begins a group of a track. `number` is higher than any before.
    ///
    /// # Errors
    /// The relay client has ended.
    pub async fn begin_group(&mut self, track: Track, number: u64) -> io::Result<()> {
        self.write(&[&message::group(track, number)]).await
    }

    /// Passes on an object of the group that was begun last on its track, at most 16 MiB.
    ///
    /// # Errors
    /// The relay client has ended.
    pub async fn object(&mut self, track: Track, object: &[u8]) -> io::Result<()> {
        self.write(&[&message::object_head(track, object.len()), object]).await
    }

    /// Opens a session with the camera. `session` is higher than any before.
    pub(super) async fn open_session(&mut self, session: u32) -> io::Result<()> {
        self.write(&[&message::session_open(session)]).await
    }

    /// Passes on what a session said, or its end.
    pub(super) async fn session(&mut self, said: &Said) -> io::Result<()> {
        let message = match said {
            Said::Bytes(session, bytes) => message::session_data(*session, bytes),
            Said::Closes(session) => message::session_close(*session),
        };
        self.write(&[&message]).await
    }

    async fn write(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        for part in parts {
            self.input.write_all(part).await?;
        }
        self.input.flush().await
    }

    /// The next event; `None` if the relay client has ended. Cancel-safe.
    pub async fn event(&mut self) -> Option<RelayEvent> {
        self.events.recv().await
    }

    /// Ends the input, and waits until the relay client has said goodbye to its relay.
    pub(super) async fn finish(mut self) -> Option<ExitStatus> {
        drop(self.input);
        self.events.close();
        self.child.wait().await.ok()
    }
}

/// The relay client beside this program, or else the one in `PATH`.
fn program() -> PathBuf {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    let in_path = std::env::var_os("PATH");
    let in_path = in_path
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join(PROGRAM));
    let found = beside.into_iter().chain(in_path).find(|path| path.is_file());
    found.unwrap_or_else(|| PROGRAM.into())
}

fn does_not_start(why: &dyn fmt::Display) -> Failure {
    let hint = "install it beside sealcast or in PATH: docs/relay.md says how";
    Failure::new(FailureKind::Usage, format!("{PROGRAM} does not start: {why}"), hint)
}

/// Starts a relay client behind a fence. A thread puts it up around itself and what it starts, and ends: a process
/// inherits it from the thread that starts it.
async fn start_fenced(mut command: Command, program: PathBuf) -> Result<Child> {
    let readable: Vec<PathBuf> = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
        .iter()
        .filter_map(|name| std::env::var_os(name).map(PathBuf::from))
        .collect();
    let (runtime, (tell, told)) = (Handle::current(), oneshot::channel());
    let failed = |error: io::Error| does_not_start(&error);
    let mut start = move || {
        let _entered = runtime.enter();
        say_what_is_missing(fence::confine(&program, &readable)?);
        command.spawn().map_err(failed)
    };
    let thread = thread::Builder::new().name("relay-client".to_owned());
    let tell = move || {
        // Nobody waits for it any more if telling fails: then the client ends with the value.
        let _ = tell.send(start());
    };
    thread.spawn(tell).map_err(failed)?;
    told.await.unwrap_or_else(|_| Err(failed(io::ErrorKind::Other.into())))
}

/// Say in the log, once, what the fence lacks.
fn say_what_is_missing(raised: Raised) {
    static SAID: Once = Once::new();
    let missing = match (raised.landlock, raised.seccomp) {
        (true, true) => return,
        (false, true) => "this kernel lacks landlock, so it can read this user's files",
        (true, false) => "there is no seccomp here, so it can reach the sockets of this machine",
        (false, false) => "there is neither landlock nor seccomp here: it can do what this user can",
    };
    SAID.call_once(|| tracing::warn!("the fence around {PROGRAM} is incomplete: {missing}"));
}

async fn read_events(output: ChildStdout, tell: mpsc::Sender<RelayEvent>) {
    let mut output = BufReader::new(output);
    loop {
        match message::read(&mut output).await {
            Ok(Some(event)) => {
                if tell.send(event).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("the pipe from {PROGRAM} is of no use any more: {error}");
                return;
            }
        }
    }
}

/// Logs what the relay client says to people.
async fn log_words(mut words: ChildStderr, relay: String) {
    let mut piece = [0; MAX_WORDS];
    let mut said = Telling::default();
    while let Ok(length @ 1..) = words.read(&mut piece).await {
        for line in String::from_utf8_lossy(&piece[..length]).lines() {
            // What a relay does can make it say the same again and again.
            let line = plain(line);
            match said.count(Instant::now()) {
                Some(total) => tracing::warn!(relay, total, "{PROGRAM}: {line}"),
                None => tracing::debug!(relay, "{PROGRAM}: {line}"),
            }
        }
    }
}
