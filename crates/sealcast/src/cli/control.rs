//! `sealcast control`, and how other commands speak with a running program.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use sealcast_proto::words::plain;
use tokio::runtime::Builder;

use super::args::ControlArgs;
use super::peers::default_or_only;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files;
use crate::keys::peers::{MAX_LISTED, MAX_TABLE};
use crate::keys::publisher::{control_socket, folder};
use crate::output;
use crate::run::{MAX_COMMAND, connect_at_once};

/// Time limit for the connection, and for the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval of attempts to connect.
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn run(args: &ControlArgs) -> Result<()> {
    let path = match &args.socket {
        Some(path) => path.clone(),
        None => {
            let home = files::home()?;
            let name = args
                .name
                .as_deref()
                .map_or_else(|| default_or_only(&home), str::parse)?;
            control_socket(&folder(&home, &name))
        }
    };
    let Some(answer) = tell_running(&path, &args.command.join(" "))? else {
        let what = format!("no publisher answers at {}", path.display());
        let hint = "give the --name of one that runs, or as --socket the path that it was given as --control";
        return Err(Failure::new(FailureKind::Network, what, hint));
    };
    let ok = if answer.contains('\n') { "" } else { "ok " };
    output::print(&format!("{ok}{answer}\n"))
}

/// Tell the program that listens at this socket a command, and return the answer without its first word: one line, or
/// those that it announces. `None` if no program listens there.
///
/// # Errors
/// The command is too long, the program refuses it, or it does not answer.
pub(super) fn tell_running(path: &Path, command: &str) -> Result<Option<String>> {
    if command.contains('\n') || command.len() >= MAX_COMMAND {
        let what = format!("a command is one line of fewer than {MAX_COMMAND} bytes");
        return Err(Failure::new(FailureKind::Usage, what, "say help to see the commands"));
    }
    let stream = match connect(path) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::WouldBlock) => {
            return Err(no_answer(path, &error));
        }
        // Nobody has made it, who made it has ended, or its path is too long for a socket.
        Err(_) => return Ok(None),
    };
    let answer = check_who_answers(path, &stream).and_then(|()| ask(stream, command));
    let answer = answer.map_err(|error| no_answer(path, &error))?;
    match (answer.strip_prefix("error: "), answer.strip_prefix("ok ")) {
        (Some(why), _) => {
            let (what, hint) = why.split_once("; ").unwrap_or((why, "say help to see the commands"));
            Err(Failure::new(FailureKind::Usage, plain(what), plain(hint)))
        }
        (None, done) => {
            let lines: Vec<String> = done.unwrap_or(&answer).lines().map(plain).collect();
            Ok(Some(lines.join("\n")))
        }
    }
}

fn no_answer(path: &Path, error: &io::Error) -> Failure {
    let what = format!("the program at {} does not answer ({error})", path.display());
    Failure::new(
        FailureKind::Network,
        what,
        "run this as the user who runs that program, or as root",
    )
}

/// Connects, and waits a while for a program that is busy with others.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connect_at_once(path) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => sleep(LOOK),
            connected => return connected,
        }
    }
}

/// Fails if the one who answers is neither this user nor root. Root asks programs of all users: then it must be the
/// user who made what is at the path.
fn check_who_answers(path: &Path, stream: &UnixStream) -> io::Result<()> {
    let (own, server) = (geteuid().as_raw(), user_of(stream)?);
    let expected = if own == 0 {
        fs::symlink_metadata(path)?.uid()
    } else {
        own
    };
    match server == expected || server == 0 {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::PermissionDenied, "another user runs it")),
    }
}

/// The user at the other end of a socket. Its process may be in another namespace, and has no number here then.
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _within = runtime.enter();
    stream.set_nonblocking(true)?;
    let user = tokio::net::UnixStream::from_std(stream.try_clone()?)?
        .peer_cred()?
        .uid();
    stream.set_nonblocking(false)?;
    Ok(user)
}

/// Ask, and return the answer: one line, or the lines that a line `ok N lines` announces, behind `ok`.
fn ask(mut stream: UnixStream, command: &str) -> io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Who refuses the caller may have closed its end already, and has said why.
    let written = stream.write_all(format!("{command}\n").as_bytes());
    let mut lines = BufReader::new(stream.take(MAX_TABLE as u64)).lines();
    let mut next = || lines.next().unwrap_or(Err(ErrorKind::UnexpectedEof.into()));
    let first = next().or_else(|error| written.and(Err(error)))?;
    let more = first.strip_prefix("ok ").and_then(|rest| rest.strip_suffix(" lines"));
    match more.and_then(|count| count.parse().ok()) {
        Some(count) => {
            let lines = (0..MAX_LISTED.min(count)).map(|_| next());
            Ok(format!("ok {}", lines.collect::<io::Result<Vec<_>>>()?.join("\n")))
        }
        None => Ok(first),
    }
}
