//! `sealcast status`: how a running program is, in one screen.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::control::tell_running;
use super::peers::{Whose, json, parsed, whose};
use super::peers_args::StatusArgs;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::peers::running;
use crate::keys::publisher::control_socket;
use crate::output;
use crate::overview::{Page, StatusOverview};
use crate::platform::wall_time::wall_time;
use crate::run::STATUS;

/// Interval at which `--watch` shows it again.
const AGAIN: Duration = Duration::from_secs(1);
/// Clears a terminal; puts its cursor at the top; clears the rest of a line, and all below.
const CLEAR: &str = "\x1b[2J";
const TOP: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K\n";
const BELOW: &str = "\x1b[J";

pub(super) fn run(args: &StatusArgs) -> Result<()> {
    let whose = match &args.socket {
        Some(_) => None,
        None => Some(whose(&args.whose, false)?),
    };
    let folder = whose.as_ref().map(|whose| control_socket(&whose.folder));
    let socket = args.socket.as_deref().or(folder.as_deref()).unwrap_or(Path::new(""));
    let look = || look(socket, whose.as_ref());
    if !args.watch {
        let status = look()?;
        let text = match args.json {
            true => json(&status, true)?,
            false => page().status(&status, None),
        };
        return output::print(&format!("{text}\n"));
    }
    if !args.json && output::terminal().is_none() {
        let what = "--watch shows it again and again at one place, and standard output is no terminal";
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            "leave out --watch, or add --json for a line each second",
        ));
    }
    let mut before = CLEAR;
    loop {
        let status = look()?;
        let written = match args.json {
            true => output::write_lines(&(json(&status, false)? + "\n")),
            false => output::write(&(std::mem::take(&mut before).to_owned() + &screen(&status))),
        };
        match written {
            Ok(()) => sleep(AGAIN),
            // Nobody looks at it any more.
            Err(_) => return Ok(()),
        }
    }
}

fn page() -> Page {
    Page {
        columns: output::terminal().map(|(columns, _)| columns),
        ..Page::endless(wall_time())
    }
}

/// The status as a screen that replaces the one before.
fn screen(status: &StatusOverview) -> String {
    // The cursor is on a line of its own.
    let lines = output::terminal().map(|(_, lines)| lines.saturating_sub(1));
    let text = page().status(status, lines);
    let lines = text.lines().map(|line| format!("{line}{REST_OF_LINE}"));
    format!("{TOP}{}{BELOW}", lines.collect::<String>())
}

fn look(socket: &Path, whose: Option<&Whose>) -> Result<StatusOverview> {
    let answer = tell_running(socket, STATUS)?.ok_or_else(|| nobody_answers(socket, whose))?;
    let status: StatusOverview = parsed(&answer)?;
    Ok(StatusOverview {
        name: whose.map(|whose| whose.name.to_string()),
        ..status
    })
}

fn nobody_answers(socket: &Path, whose: Option<&Whose>) -> Failure {
    let without = whose.and_then(|whose| running(&whose.folder));
    let (what, hint) = match (whose, without) {
        (Some(whose), Some(id)) => (
            format!("{} runs as process {id}, and has no control socket to ask", whose.name),
            "its log says why; --control PATH makes one elsewhere",
        ),
        (Some(whose), None) => (
            format!("{} does not run", whose.name),
            "start it, or see by `sealcast peers list` whom it admits",
        ),
        (None, _) => (
            format!("no program answers at {}", socket.display()),
            "give the path that it was given as --control",
        ),
    };
    Failure::new(FailureKind::Network, what, hint)
}
