//! `sealcast control`: sends a command to a running publishing end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::args::ControlArgs;
use crate::failure::{Failure, FailureKind, Result};
use crate::run::MAX_COMMAND;

/// Time limit for the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum length of the answer in bytes.
const MAX_ANSWER: u64 = 4096;

pub(super) fn run(args: &ControlArgs) -> Result<()> {
    let command = args.command.join(" ");
    if command.contains('\n') || command.len() >= MAX_COMMAND {
        let what = format!("a command is one line of fewer than {MAX_COMMAND} bytes");
        return Err(Failure::new(FailureKind::Usage, what, "say help to see the commands"));
    }
    let answer = ask(args, &command).map_err(|error| {
        let what = format!("no publisher answers at {} ({error})", args.path.display());
        let hint = "name the path that was given to publish or gateway camera as --control";
        Failure::new(FailureKind::Network, what, hint)
    })?;
    match answer.trim_end().strip_prefix("error: ") {
        Some(why) => Err(Failure::new(FailureKind::Usage, why, "say help to see the commands")),
        None => {
            println!("{}", answer.trim_end());
            Ok(())
        }
    }
}

fn ask(args: &ControlArgs, command: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(&args.path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream.take(MAX_ANSWER)).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}
