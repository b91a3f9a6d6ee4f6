//! Commands to a running program through its control socket, one per line, and their answers.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::Role;
use sealcast_proto::unit::{NoSelection, Selection};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::away::{Away, utc};
use super::control_socket::ControlSocket;
use super::runtime_settings::{THIS, announce};
use super::ways::{Ways, with_invite};
use super::{Admission, Observation, RuntimeSettings};
use crate::failure::{Failure, FailureKind};
use crate::keys::peers::{InviteRequest, PeersCommand};

/// Maximum length of a command in bytes, including the line end.
pub const MAX_COMMAND: usize = 512;
/// Time limit for each command on a connection, and for taking its answer.
const COMMAND_PATIENCE: Duration = Duration::from_secs(30);
/// What a socket is told that is there unasked.
const NOT_BY_HAND: &str = "only a program that was given --control PATH leaves something in clear while it runs; \
    start it with that, or with --encrypt";

const HELP: &str = "encrypt all|none|rate:P|keyframes|headers|headers+keyframes|level:N, N from 1 to 4 \
                    (a gateway: the first three); \
                    rekey: new keys for every viewer; keyframe: ask the source for one; status; \
                    invite [uses=N] [seconds=N] [label=NAME], as `sealcast invite` says it; \
                    peers list, peers allow PEER-ID [NAME], peers rename PEER-ID NAME, peers remove PEER-ID|NAME, \
                    peers withdraw INVITE|all [with-peers]; help";

/// What an end that seals nothing is told.
const SEALS_NOTHING: &str = "this end watches and seals nothing: command its publisher";

/// A listening end, as seen by its control socket.
pub(super) trait Controlled: Send + Sync + 'static {
    /// The settings that can be changed; `None` of an end that publishes nothing.
    fn settings(&self) -> Option<&RuntimeSettings>;

    fn observation(&self) -> &Observation;

    /// Whom it admits.
    fn admission(&self) -> &Admission;

    /// Number of viewers.
    fn viewers(&self) -> usize;

    /// Number of frames from its source so far, or for its sink.
    fn frames(&self) -> u64;

    /// Since when its source is there, or away, in ns since 1970, and why; `None` of an end with many sources.
    fn standing(&self) -> Option<(u64, Option<Arc<Away>>)> {
        None
    }

    /// Returns the reason if the end cannot encrypt by that selection.
    fn check(&self, _selection: Selection) -> Result<(), &'static str> {
        Err(SEALS_NOTHING)
    }

    /// Request a keyframe from the source. Returns the reason if that is impossible.
    fn request_keyframe(&self) -> Result<(), &'static str> {
        Err(SEALS_NOTHING)
    }
}

/// Serve commands; never returns.
pub(super) async fn commands(socket: Option<ControlSocket>, end: Arc<dyn Controlled>) -> std::convert::Infallible {
    if let Some(socket) = socket {
        socket.serve(end).await;
    }
    std::future::pending().await
}

/// What commands are about.
pub(super) struct Commands {
    pub(super) end: Arc<dyn Controlled>,
    /// True if the user said where the socket is to be. Only there something may be left in clear: a socket that is
    /// there unasked must not be the way to that.
    pub(super) by_hand: bool,
    /// The ways to this end, for invites.
    pub(super) ways: Option<Arc<Ways>>,
}

/// Answer the commands of one connection, one per line.
pub(super) async fn converse(stream: UnixStream, commands: &Commands) -> io::Result<()> {
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
        if !line.ends_with(b"\n") {
            let refused = "error: the command breaks off; it ends with a line break\n";
            return writing.write_all(refused.as_bytes()).await;
        }
        let mut answer = match answer(String::from_utf8_lossy(&line).trim(), commands) {
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
fn answer(command: &str, commands: &Commands) -> Result<String, String> {
    let end = &*commands.end;
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    match (verb, rest.trim()) {
        ("encrypt", "") => Err("encrypt what? help shows it".to_owned()),
        ("encrypt", selection) => {
            let selection = parse_selection(selection)?;
            if selection != Selection::All && !commands.by_hand {
                return Err(NOT_BY_HAND.to_owned());
            }
            select(end, selection)?;
            Ok(format!("encrypt {selection}"))
        }
        ("rekey", "") => {
            end.settings().ok_or(SEALS_NOTHING)?.rekey();
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
            Ok(in_lines(answer))
        }
        ("invite", request) => invite(request, commands).map_err(|failure| failure.to_string()),
        ("help", "") => Ok(HELP.to_owned()),
        ("", _) => Err("an empty command; help shows them".to_owned()),
        // Do not echo the command: it may contain anything, and answers end up in terminals.
        _ => Err("there is no such command; help shows them".to_owned()),
    }
}

/// An answer of several lines begins with their number.
fn in_lines(answer: String) -> String {
    match answer.lines().count() {
        0 | 1 => answer,
        lines => format!("{lines} lines\n{answer}"),
    }
}

/// Invite somebody. Returns what is known of the invite, and a line for each way here.
fn invite(request: &str, commands: &Commands) -> crate::failure::Result<String> {
    let request = InviteRequest::parse(request)?;
    let (tickets, role) = match &commands.ways {
        Some(ways) => (ways.tickets()?, ways.role()),
        None => (Vec::new(), Role::Publisher),
    };
    if tickets.is_empty() {
        return Err(Failure::new(
            FailureKind::Usage,
            "nobody comes to this program: it goes to its viewer itself",
            "invite somebody to a publisher that listens, or that has a relay",
        ));
    }
    let live = commands.end.admission().invite_for(&request)?;
    let mut answer = live.to_string();
    for line in with_invite(tickets, role, &live.invite) {
        answer.push('\n');
        answer.push_str(&line);
    }
    Ok(in_lines(answer))
}

/// Switch to the selection that a user writes. Returns why not.
pub(super) fn choose(end: &dyn Controlled, selection: &str) -> Result<Selection, String> {
    let selection = parse_selection(selection)?;
    select(end, selection)?;
    Ok(selection)
}

fn parse_selection(text: &str) -> Result<Selection, String> {
    text.parse().map_err(|error: NoSelection| error.to_string())
}

fn select(end: &dyn Controlled, selection: Selection) -> Result<(), String> {
    end.check(selection)?;
    let settings = end.settings().ok_or(SEALS_NOTHING)?;
    if settings.selection() != selection {
        settings.select(selection);
        announce(THIS, selection);
        end.observation().selection(selection);
    }
    Ok(())
}

fn status(end: &dyn Controlled) -> String {
    let metrics = &end.observation().metrics;
    let totals = metrics.totals();
    let Some(settings) = end.settings() else {
        return format!("frames={}", end.frames());
    };
    let mut text = format!("encrypt={}", settings.selection());
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
