//! `sealcast invite`: one more for a publisher, camera gateway or listening viewer, while it runs or for its next
//! start.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use sealcast_proto::keys::Role;
use zeroize::Zeroizing;

use super::control::tell_running;
use super::hand_out::{STDOUT, TO_PUBLISH, TO_SERVE_PLAYERS, TO_WATCH, hand_out_lines, hand_out_tickets};
use super::peers::{Whose, whose};
use super::peers_args::InviteArgs;
use super::qr;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::keys::files::End;
use crate::keys::peers::{CameraLimit, InviteRequest, Kind, PeerStore, PeersCommand, Terms, running};
use crate::keys::publisher::control_socket;
use crate::output;
use crate::platform::wall_time::wall_time;
use crate::run::session::ways::{remembered, with_invite};

/// An invite, with the line of each way to use it.
struct Invited {
    /// Description of the invite, which begins with the word `invite` and its name.
    about: String,
    lines: Vec<Zeroizing<String>>,
    /// The words before a ticket that the other end types, if it is known what this end is.
    typed: Option<&'static str>,
}

pub(super) fn run(args: &InviteArgs) -> Result<()> {
    let terms = Terms {
        uses: args.uses,
        life: args.expires.0,
    };
    let request = InviteRequest::new(terms, &args.label, CameraLimit::to(&args.cameras)?)?;
    check_place(args.ticket_file.as_deref())?;
    let (invited, run_again) = make(args, &request)?;
    output::say(&invited.about);
    let file = args.ticket_file.as_deref();
    let handed_out = match invited.typed {
        Some(typed) => hand_out_tickets(&invited.lines, typed, true, file),
        None => hand_out_lines(
            invited.lines.iter().map(|line| line.to_string() + "\n").collect(),
            true,
            file,
        ),
    };
    handed_out.inspect_err(|_| {
        // Nobody has it. If it stays all the same, it expires.
        let name = invited.about.split([' ', ':']).nth(1).unwrap_or_default();
        let (invite, with_peers) = (name.to_owned(), false);
        let _ = run_again(&PeersCommand::Withdraw { invite, with_peers });
    })?;
    let link = invited.lines.iter().find(|line| line.starts_with("http"));
    if let Some(line) = link.or(invited.lines.first()).filter(|_| args.qr) {
        qr::show(line);
    }
    Ok(())
}

/// Runs a command about peers where an invite was made.
type Run = Box<dyn Fn(&PeersCommand) -> Result<()>>;

/// Makes the invite, by the program that runs or in its lists.
fn make(args: &InviteArgs, request: &InviteRequest) -> Result<(Invited, Run)> {
    let tell = |socket: PathBuf| -> Run { Box::new(move |command| tell_running(&socket, &command.line()).map(drop)) };
    if let Some(path) = &args.socket {
        let invited = by_running(path, request, None)?.ok_or_else(|| {
            let what = format!("no program answers at {}", path.display());
            Failure::new(
                FailureKind::Network,
                what,
                "give the path that it was given as --control",
            )
        })?;
        return Ok((invited, tell(path.clone())));
    }
    let whose = whose(&args.whose, false)?;
    let socket = control_socket(&whose.folder);
    match by_running(&socket, request, Some(typed(&whose)))? {
        Some(invited) => Ok((invited, tell(socket))),
        None => Ok((
            by_lists(&whose, request)?,
            Box::new(move |command| in_lists(&whose, command)),
        )),
    }
}

/// Checks, before an invite is made, that its ticket can be handed out.
fn check_place(file: Option<&Path>) -> Result<()> {
    match file {
        None if !std::io::stdout().is_terminal() => Err(Failure::new(
            FailureKind::Usage,
            "the ticket would have a secret, and standard output is no terminal",
            "add --ticket-file FILE for a new file, or --ticket-file - to print it all the same",
        )),
        Some(path) if path != Path::new(STDOUT) && path.exists() => Err(Failure::new(
            FailureKind::Keys,
            format!("{} exists already", path.display()),
            "name another file: keys are never overwritten",
        )),
        _ => Ok(()),
    }
}

/// The invite, made by the program that runs; `None` if none listens there.
fn by_running(socket: &Path, request: &InviteRequest, typed: Option<&'static str>) -> Result<Option<Invited>> {
    let Some(answer) = tell_running(socket, &request.line())?.map(Zeroizing::new) else {
        return Ok(None);
    };
    let mut lines = answer.lines();
    Ok(Some(Invited {
        about: lines.next().unwrap_or_default().to_owned(),
        lines: lines.map(|line| Zeroizing::new(line.to_owned())).collect(),
        typed,
    }))
}

/// The words before a ticket of this end that the other end types.
fn typed(whose: &Whose) -> &'static str {
    let gateway = End::GatewayCamera.default_name();
    match whose.kind {
        Kind::Viewer => TO_PUBLISH,
        Kind::Publisher if Some(whose.name.to_string().as_str()) == gateway => TO_SERVE_PLAYERS,
        Kind::Publisher => TO_WATCH,
    }
}

/// The invite, written into the lists of a program that does not run, or takes no commands. Its tickets lead to where
/// the program listened when it started last.
fn by_lists(whose: &Whose, request: &InviteRequest) -> Result<Invited> {
    let tickets = remembered(&whose.folder);
    if tickets.is_empty() {
        let what = format!("where {} will listen is not known: no start of it is", whose.name);
        let hint = "start it once, which prints a ticket with an invite";
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    let now = wall_time();
    let (live, _) = request.make(&mut PeerStore::open(&whose.folder, now)?, now)?;
    match running(&whose.folder) {
        Some(id) => output::say(format_args!(
            "a program runs with these lists: have it read them by `kill -HUP {id}`"
        )),
        None => output::say(format_args!(
            "{} does not run: the ticket is good from its next start on, if it listens where it did",
            whose.name
        )),
    }
    let role = match whose.kind {
        Kind::Publisher => Role::Publisher,
        Kind::Viewer => Role::Viewer,
    };
    Ok(Invited {
        about: live.to_string(),
        lines: with_invite(tickets, role, &live.invite),
        typed: Some(typed(whose)),
    })
}

/// Run a command on the lists of a program that does not run.
fn in_lists(whose: &Whose, command: &PeersCommand) -> Result<()> {
    let now = wall_time();
    let mut store = PeerStore::open(&whose.folder, now)?;
    command.run(&mut store, &AllowList::empty(), now).map(drop)
}
