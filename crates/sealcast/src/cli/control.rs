//! `sealcast control`: sends a command to a running publishing end.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use sealcast_proto::words::plain;

use super::args::ControlArgs;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::peers::{MAX_LISTED, MAX_TABLE};
use crate::keys::{files, publisher};
use crate::run::MAX_COMMAND;

/// Time limit for the answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(args: &ControlArgs) -> Result<()> {
    let command = args.command.join(" ");
    if command.contains('\n') || command.len() >= MAX_COMMAND {
        let what = format!("a command is one line of fewer than {MAX_COMMAND} bytes");
        return Err(Failure::new(FailureKind::Usage, what, "say help to see the commands"));
    }
    let path = match &args.socket {
        Some(path) => path.clone(),
        None => publisher::control_socket(&publisher::folder(&files::home()?, &args.name.parse()?)),
    };
    let answer = ask(&path, &command).map_err(|error| {
        let what = format!("no publisher answers at {} ({error})", path.display());
        let hint = "give the --name of one that runs, or as --socket the path that it was given as --control";
        Failure::new(FailureKind::Network, what, hint)
    })?;
    match answer.strip_prefix("error: ") {
        Some(why) => Err(Failure::new(FailureKind::Usage, why, "say help to see the commands")),
        None => {
            let lines: Vec<String> = answer.lines().map(plain).collect();
            println!("{}", lines.join("\n"));
            Ok(())
        }
    }
}

/// Ask, and return the answer: one line, or the lines that a line `ok N lines` announces.
fn ask(path: &Path, command: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut lines = BufReader::new(stream.take(MAX_TABLE as u64)).lines();
    let mut next = || lines.next().unwrap_or(Err(ErrorKind::UnexpectedEof.into()));
    let first = next()?;
    let more = first.strip_prefix("ok ").and_then(|rest| rest.strip_suffix(" lines"));
    match more.and_then(|count| count.parse().ok()) {
        Some(count) => (0..MAX_LISTED.min(count))
            .map(|_| next())
            .collect::<std::io::Result<Vec<_>>>()
            .map(|lines| lines.join("\n")),
        None => Ok(first),
    }
}
