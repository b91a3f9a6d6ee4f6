//! Commands to a running program through its control socket, one per line, and their answers.

pub(crate) mod caller;
pub(crate) mod socket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{PeerId, Role};
use sealcast_proto::unit::{NoSelection, Selection};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::failure::{Failure, FailureKind};
use crate::keys::peers::{InviteRequest, PeersCommand};
use crate::media::StreamInfo;
use crate::meter::labels::PeerQueue;
use crate::overview::{Page, counted};
use crate::platform::wall_time::wall_time;
use crate::run::media::away::Away;
use crate::run::session::admission::Admission;
use crate::run::session::observe::Observation;
use crate::run::session::overview;
use crate::run::session::runtime_settings::{RuntimeSettings, THIS, announce};
use crate::run::session::ways::{Ways, with_invite};
use socket::ControlSocket;

/// Maximum length of a command in bytes, including the line end.
pub const MAX_COMMAND: usize = 512;
/// Time limit for each command on a connection, and for taking its answer.
const COMMAND_PATIENCE: Duration = Duration::from_secs(30);
/// Answer of a socket that is there unasked.
const NOT_BY_HAND: &str = "only a program that was given --control PATH leaves something in clear while it runs; \
    start it with that, or with --encrypt";

const HELP: &str = "encrypt [CAMERA] all|none|rate:P|keyframes|headers|headers+keyframes|level:N, N from 1 to 4 \
                    (a gateway: the first three); \
                    rekey [CAMERA]: new keys for every viewer; keyframe [CAMERA]: ask the source for one; \
                    status [json]; \
                    invite [uses=N] [seconds=N] [cameras=NAME,NAME] [label=NAME], as `sealcast invite` says it; \
                    peers list [json], peers allow PEER-ID [NAME], peers rename PEER-ID|NAME NAME (with a tab between \
                    them if the first has blanks), peers remove PEER-ID|NAME (and, after a tab, the CAMERA that alone \
                    is taken from it), peers withdraw [with-peers] INVITE|NAME|all; help";

/// The command that is answered by a line of JSON with the peers.
pub const LIST_PEERS: &str = "peers list json";
/// The command that is answered by a line of JSON with the status.
pub const STATUS: &str = "status json";

/// Answer of an end that seals nothing.
const SEALS_NOTHING: &str = "this end watches and seals nothing: command its publisher";

/// A camera of an end as it is now.
#[derive(Clone, Default)]
pub(crate) struct CameraStatus {
    /// The name by which sessions wish for it; empty for the only one.
    pub(crate) name: String,
    /// Number of frames from its source so far, or for its sink.
    pub(crate) frames: u64,
    /// Number of viewers.
    pub(crate) viewers: usize,
    /// Codec, size and rate, once they are known.
    pub(crate) info: Option<StreamInfo>,
    /// Since when its source is there, or away, in ns since 1970, if that is known.
    pub(crate) since: Option<u64>,
    /// Reason why its source is away.
    pub(crate) away: Option<Arc<Away>>,
    /// True once its source has ended, or is given up: it does not come again.
    pub(crate) ended: bool,
}

/// End that seals media by settings that can be changed: a camera, or a gateway with all of its cameras.
pub(crate) trait Sealing {
    fn settings(&self) -> &RuntimeSettings;

    fn observation(&self) -> &Observation;

    /// Returns the reason if it cannot encrypt by that selection.
    fn check(&self, selection: Selection) -> Result<(), &'static str>;

    /// Request a keyframe from the source. Returns the reason if that is impossible.
    fn request_keyframe(&self) -> Result<(), &'static str>;
}

/// A listening end, as seen by its control socket.
pub(crate) trait Controlled: Send + Sync + 'static {
    /// Does something with the camera of this name, or with all of them. At an end that seals nothing nothing is done.
    /// Returns how many did it.
    fn each(
        &self,
        camera: Option<&str>,
        act: &mut dyn FnMut(&dyn Sealing) -> Result<(), String>,
    ) -> Result<usize, String>;

    fn observation(&self) -> &Observation;

    /// Admission of its peers.
    fn admission(&self) -> &Admission;

    /// Kind of this end: `publisher`, `camera gateway` or `viewer`.
    fn kind(&self) -> &'static str;

    /// Its cameras, in the order in which they are shown; of a viewer the one that it watches.
    fn cameras(&self) -> Vec<CameraStatus>;

    /// The cameras that a peer may watch that is admitted; `None` for all.
    fn cameras_for(&self, _peer: &PeerId) -> Option<Vec<String>> {
        None
    }

    /// Others may see its cameras than before.
    fn lists_changed(&self) {}

    /// Cameras were commanded to have new keys: sessions of none in particular have them, too.
    fn rekeyed(&self) {}
}

/// Does something with the camera of this name, or with all of them. Returns why not, also if there is none.
fn sealing(
    end: &dyn Controlled,
    camera: Option<&str>,
    act: &mut dyn FnMut(&dyn Sealing) -> Result<(), String>,
) -> Result<(), String> {
    match (end.each(camera, act)?, camera) {
        (0, Some(_)) => Err("there is no camera of that name here; status shows them".to_owned()),
        (0, None) => Err(SEALS_NOTHING.to_owned()),
        _ => Ok(()),
    }
}

/// Serve commands; never returns.
pub(crate) async fn commands(socket: Option<ControlSocket>, end: Arc<dyn Controlled>) -> std::convert::Infallible {
    if let Some(socket) = socket {
        socket.serve(end).await;
    }
    std::future::pending().await
}

/// Subject of commands.
pub(crate) struct Commands {
    pub(crate) end: Arc<dyn Controlled>,
    /// True if the user said where the socket is to be. Only there something may be left in clear: a socket that is
    /// there unasked must not be the way to that.
    pub(crate) by_hand: bool,
    /// The ways to this end, for invites.
    pub(crate) ways: Option<Arc<Ways>>,
}

/// Answer the commands of one connection, one per line.
pub(crate) async fn converse(stream: UnixStream, commands: &Commands) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::with_capacity(MAX_COMMAND, reading);
    let held = commands.end.observation().metrics.held(PeerQueue::Answer);
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
        held.set(answer.len());
        let written = tokio::time::timeout(COMMAND_PATIENCE, writing.write_all(answer.as_bytes()));
        let Ok(written) = written.await else { return Ok(()) };
        written?;
        held.set(0);
    }
}

/// Run a command. Returns the text of the answer: the effect, or the error. An answer of several lines begins with a
/// line `N lines`, and the N lines follow.
fn answer(command: &str, commands: &Commands) -> Result<String, String> {
    let end = &*commands.end;
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    match (verb, rest.trim()) {
        ("encrypt", "") => Err("encrypt what? help shows it".to_owned()),
        ("encrypt", what) => {
            let (camera, selection) = match what.split_once(' ') {
                Some((camera, selection)) => (Some(camera), selection.trim()),
                None => (None, what),
            };
            let selection = parse_selection(selection)?;
            if selection != Selection::All && !commands.by_hand {
                return Err(NOT_BY_HAND.to_owned());
            }
            select(end, camera, selection)?;
            Ok(format!("encrypt {selection}"))
        }
        ("rekey", camera) => {
            let camera = (!camera.is_empty()).then_some(camera);
            sealing(end, camera, &mut |sealing| {
                sealing.settings().rekey();
                Ok(())
            })?;
            end.rekeyed();
            let viewers = end.admission().attendance().count_of(camera);
            Ok(format!("rekey with {}", counted(viewers, "viewer", "viewers")))
        }
        ("keyframe", camera) => {
            let camera = (!camera.is_empty()).then_some(camera);
            sealing(end, camera, &mut |sealing| Ok(sealing.request_keyframe()?))?;
            Ok("keyframe requested".to_owned())
        }
        ("status", "") => Ok(overview::one_line(&overview::status(end))),
        _ if command == STATUS => in_json(&overview::status(end)),
        ("peers", "list") => Ok(in_lines(Page::endless(wall_time()).peers(&overview::peers(end)))),
        _ if command == LIST_PEERS => in_json(&overview::peers(end)),
        ("peers", command) => {
            let command = PeersCommand::parse(command).map_err(|failure| failure.to_string())?;
            if let PeersCommand::TakeCamera(_, camera) = &command {
                let known = check_cameras(end, [camera.as_str()]);
                known.map_err(|failure| failure.to_string())?;
            }
            let answer = end.admission().command(&command);
            end.lists_changed();
            answer.map_err(|failure| failure.to_string())
        }
        ("invite", request) => invite(request, commands).map_err(|failure| failure.to_string()),
        ("help", "") => Ok(HELP.to_owned()),
        ("", _) => Err("an empty command; help shows them".to_owned()),
        // Do not echo the command: it may contain anything, and answers end up in terminals.
        _ => Err("there is no such command; help shows them".to_owned()),
    }
}

/// A line of JSON.
fn in_json(facts: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(facts).map_err(|error| error.to_string())
}

/// An answer of several lines begins with their number.
fn in_lines(answer: String) -> String {
    match answer.lines().count() {
        0 | 1 => answer,
        lines => format!("{lines} lines\n{answer}"),
    }
}

/// Checks that there are cameras of these names.
fn check_cameras<'n>(end: &dyn Controlled, names: impl IntoIterator<Item = &'n str>) -> crate::failure::Result<()> {
    let cameras = end.cameras();
    let known = |name: &&str| cameras.iter().any(|camera| camera.name == **name);
    match names.into_iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let names: Vec<&str> = cameras.iter().map(|camera| camera.name.as_str()).collect();
            let hint = match names.join(", ") {
                none if none.is_empty() => {
                    "this program has no cameras of its own: say it to their publisher".to_owned()
                }
                names => format!("the cameras are {names}"),
            };
            Err(Failure::new(
                FailureKind::Usage,
                format!("there is no camera {name} here"),
                hint,
            ))
        }
    }
}

/// Invite somebody. Returns what is known of the invite, and a line for each way here.
fn invite(request: &str, commands: &Commands) -> crate::failure::Result<String> {
    let request = InviteRequest::parse(request)?;
    check_cameras(&*commands.end, request.cameras().named())?;
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
    let (live, kept) = commands.end.admission().invite_for(&request)?;
    let mut answer = format!("{live}{kept}");
    for line in with_invite(tickets, role, &live.invite) {
        answer.push('\n');
        answer.push_str(&line);
    }
    Ok(in_lines(answer))
}

/// Switch to the selection that a user writes. Returns why not.
pub(crate) fn choose(sealing: &dyn Sealing, selection: &str) -> Result<Selection, String> {
    let selection = parse_selection(selection)?;
    sealing.check(selection)?;
    switch(sealing, selection);
    Ok(selection)
}

fn switch(sealing: &dyn Sealing, selection: Selection) {
    if sealing.settings().selection() != selection {
        sealing.settings().select(selection);
        announce(THIS, selection);
        sealing.observation().selection(selection);
    }
}

fn parse_selection(text: &str) -> Result<Selection, String> {
    text.parse().map_err(|error: NoSelection| error.to_string())
}

/// Switches the camera of this name, or all of them: none, if one of them cannot.
fn select(end: &dyn Controlled, camera: Option<&str>, selection: Selection) -> Result<(), String> {
    sealing(end, camera, &mut |sealing| Ok(sealing.check(selection)?))?;
    sealing(end, camera, &mut |sealing| {
        switch(sealing, selection);
        Ok(())
    })
}
