//! Admission at a listening end: its lists at start and on SIGHUP, and `sealcast peers`.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::PeerId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::signal::unix::Signal;

use super::args::WatchArgs;
use super::control::tell_running;
use super::peers_args::{PeersAction, PeersArgs, WhoseArgs};
use super::{build, shutdown};
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::keys::files::{self, End, read_identity};
use crate::keys::peers::{
    Kind, KnownPeers, LastSeen, ListName, MAX_LIFE, MAX_USES, PeerStore, PeersCommand, Terms, overview, running,
};
use crate::keys::publisher::{self, Publisher, Start};
use crate::length::Hours;
use crate::output;
use crate::overview::{Page, PeersOverview};
use crate::platform::wall_time::wall_time;
use crate::run::{Admission, ByHand, GROUP_STREAM, LIST_PEERS};
use crate::transport::ListenUrl;

/// Default allow list of publishers that may send to us. It is separate because permission to watch must not imply
/// permission to publish.
const ALLOWED_PUBLISHERS: &str = "allow-publishers";

/// The secrets that an identity has kept from enrolments with others.
pub(super) fn known(own: &PeerId) -> KnownPeers {
    files::home().map_or_else(
        |_| KnownPeers::nowhere(),
        |home| KnownPeers::at(&home.join("known"), own),
    )
}

/// The name of a publisher or camera gateway.
pub(super) fn name_of(settings: &Settings, end: End) -> Result<ListName> {
    let name = settings.config.publish.name.as_deref().or(end.default_name());
    let parsed = name.unwrap_or_default().parse();
    parsed.map_err(|failure| settings.placed("publish.name", failure))
}

/// The publisher or camera gateway of these settings, with its identity.
pub(super) fn publisher(settings: &Settings, end: End) -> Result<Publisher> {
    Publisher::open(&Start {
        end,
        name: &name_of(settings, end)?,
        identity: settings.config.identity.file.as_deref(),
        listen: former_name(settings)?.as_ref(),
    })
}

/// The name that earlier versions gave the lists of a publisher without a name.
fn former_name(settings: &Settings) -> Result<Option<ListName>> {
    let listens = settings.config.publish.to.is_none();
    listens
        .then(|| build::listen_url(settings).map(|listen| ListName::from(&listen)))
        .transpose()
}

/// Terms of the invite of a publisher's ticket.
pub(super) fn invite_terms(settings: &Settings) -> Result<Terms> {
    let publish = &settings.config.publish;
    let uses = publish.invite_uses.get();
    let wrong =
        |key, what: String, hint: String| Err(settings.placed(key, Failure::new(FailureKind::Usage, what, hint)));
    if uses > MAX_USES {
        let hint = format!("choose 1 to {MAX_USES}");
        return wrong(
            "publish.invite_uses",
            format!("an invite cannot enrol {uses} viewers"),
            hint,
        );
    }
    let life = life(publish.invite_hours).map_err(|failure| settings.placed("publish.invite_hours", failure))?;
    Ok(Terms { uses, life })
}

/// The life of an invite: whole seconds.
pub(super) fn life(life: Hours) -> Result<Duration> {
    let range = Duration::from_secs(1)..=MAX_LIFE;
    if range.contains(&life.0) && life.0.subsec_nanos() == 0 {
        return Ok(life.0);
    }
    let what = format!("an invite cannot live for {life}");
    let hint = format!(
        "choose a time up to {}d, as in 90m, 24h or 7d",
        MAX_LIFE.as_secs() / 86_400
    );
    Err(Failure::new(FailureKind::Usage, what, hint))
}

/// The viewers that the user of a publisher or camera gateway admits.
pub(super) fn viewers_by_hand(settings: &Settings, end: End) -> Result<ByHand> {
    Ok(ByHand {
        allow: AllowList::open(&allow_file(settings, &name_of(settings, end)?)?)?,
        open: settings.config.publish.open,
        archive_nodes: archive_nodes(settings)?,
    })
}

fn archive_nodes(settings: &Settings) -> Result<Vec<PeerId>> {
    let parsed = |text: &String| {
        PeerId::parse(text).ok_or_else(|| {
            let what = format!("\"{text}\" is no peer id");
            let hint = "write that of the archive's node, as `sealcast archive record` prints it";
            let failure = Failure::new(FailureKind::Usage, what, hint);
            settings.placed("publish.archive_node", failure)
        })
    };
    settings.config.publish.archive_node.iter().map(parsed).collect()
}

fn allow_file(settings: &Settings, name: &ListName) -> Result<PathBuf> {
    match &settings.config.publish.allow {
        Some(path) => Ok(path.clone()),
        None => Ok(publisher::allow_list(&files::home()?, name)),
    }
}

/// The admission rules of a publisher or camera gateway that listens.
pub(super) fn viewers(settings: &Settings, end: End, publisher: &Publisher) -> Result<Arc<Admission>> {
    let by_hand = viewers_by_hand(settings, end)?;
    Ok(Arc::new(Admission::new(by_hand, store(publisher.folder())?)))
}

/// The publishers that the user of a listening viewer admits: one, or an allow list.
pub(super) fn publishers_by_hand(args: &WatchArgs) -> Result<ByHand> {
    let allow = match &args.publisher {
        Some(publisher) => AllowList::of([PeerId::parse(publisher).ok_or_else(|| {
            let hint = "write the peer id of the publisher, as `sealcast keygen` prints it";
            Failure::new(FailureKind::Usage, "--publisher names no peer", hint)
        })?]),
        None => AllowList::open(&files::home()?.join(ALLOWED_PUBLISHERS))?,
    };
    Ok(ByHand {
        allow,
        open: false,
        archive_nodes: Vec::new(),
    })
}

/// The admission rules of a viewer that listens, and whose lists have this name if no other is given, with their
/// folder. If it names its publisher, no other is admitted, and there are none.
pub(super) fn publishers(args: &WatchArgs, default_name: ListName) -> Result<(Arc<Admission>, Option<PathBuf>)> {
    let by_hand = publishers_by_hand(args)?;
    if args.publisher.is_some() {
        return Ok((Arc::new(Admission::new(by_hand, PeerStore::in_memory())), None));
    }
    let name = args.name.as_ref().map_or(Ok(default_name), |name| name.parse())?;
    let folder = files::home().map(|home| Kind::Viewer.directory(&home).join(name.to_string()));
    let folder = folder.ok();
    let admission = Admission::new(by_hand, store(folder.as_deref())?);
    Ok((Arc::new(admission), folder))
}

/// The lists in this folder. Without a home directory there is none, and they are lost at exit.
fn store(folder: Option<&Path>) -> Result<PeerStore> {
    match folder {
        Some(folder) => PeerStore::claim(folder, wall_time()),
        None => {
            tracing::warn!(
                "invites and who is enrolled last until this program ends: set SEALCAST_HOME to a directory"
            );
            Ok(PeerStore::in_memory())
        }
    }
}

/// Read the lists again on every SIGHUP: those that the program writes, and what the user has written.
pub(super) async fn read_again(
    hangups: Signal,
    admission: &Admission,
    by_hand: impl Fn() -> Result<ByHand>,
) -> Infallible {
    let renew = async || {
        admission.renew(by_hand()?);
        tracing::info!("the lists of peers were read again");
        Ok(())
    };
    shutdown::on_hangup(hangups, renew).await
}

/// The end whose lists a command is about.
pub(super) struct Whose {
    pub(super) kind: Kind,
    pub(super) name: ListName,
    pub(super) folder: PathBuf,
    settings: Settings,
    home: PathBuf,
}

impl Whose {
    /// Its hand-written list.
    fn allow_list(&self) -> Result<AllowList> {
        AllowList::open(&match self.kind {
            Kind::Viewer => self.home.join(ALLOWED_PUBLISHERS),
            Kind::Publisher => allow_file(&self.settings, &self.name)?,
        })
    }
}

/// The end that arguments or the configuration name, or the default one, or the only one. It need not have lists if
/// they `may_be_new`.
pub(super) fn whose(args: &WhoseArgs, may_be_new: bool) -> Result<Whose> {
    let settings = Settings::gather(args.config.as_deref(), std::env::vars_os(), [])?;
    let home = files::home()?;
    let kind = if args.viewer { Kind::Viewer } else { Kind::Publisher };
    let name = lists_of(args, &settings, &home, kind, may_be_new)?;
    Ok(Whose {
        folder: kind.directory(&home).join(name.to_string()),
        kind,
        name,
        settings,
        home,
    })
}

/// `sealcast peers`.
pub(super) fn run(args: &PeersArgs) -> Result<()> {
    let command = match &args.command {
        PeersAction::Restored { starts } => return restored(&args.whose, *starts),
        PeersAction::List(more) => return list(&args.whose, more.json),
        PeersAction::Allow { peer, comment } => PeersCommand::allow(peer, &comment.join(" "))?,
        PeersAction::Rename { peer, called } => PeersCommand::rename(peer, &called.join(" ")),
        PeersAction::Remove { peer, camera: None } => PeersCommand::Remove(peer.clone()),
        PeersAction::Remove {
            peer,
            camera: Some(camera),
        } => PeersCommand::take_camera(peer, camera)?,
        PeersAction::Withdraw { invite, with_peers } => PeersCommand::Withdraw {
            invite: invite.clone(),
            with_peers: *with_peers,
        },
    };
    let whose = whose(&args.whose, matches!(args.command, PeersAction::Allow { .. }))?;
    if let Some(answer) = tell_running(&publisher::control_socket(&whose.folder), &command.line())? {
        return output::print(&format!("{answer}\n"));
    }
    let now = wall_time();
    let mut store = PeerStore::open(&whose.folder, now)?;
    let answer = command.run(&mut store, &whose.allow_list()?, now)?;
    output::print(&format!("{answer}\n"))?;
    if let Some(id) = running(&whose.folder) {
        output::say(format_args!(
            "a program runs with these lists: have it read them by `kill -HUP {id}`"
        ));
    }
    Ok(())
}

/// `sealcast peers list`: what the program says that runs, or else its files.
fn list(args: &WhoseArgs, in_json: bool) -> Result<()> {
    let (whose, now) = (whose(args, false)?, wall_time());
    let answer = tell_running(&publisher::control_socket(&whose.folder), LIST_PEERS)?;
    let mut overview: PeersOverview = match answer {
        Some(answer) => parsed(&answer)?,
        None => {
            let (store, seen) = (PeerStore::open(&whose.folder, now)?, LastSeen::at(&whose.folder));
            overview(&store.lists(), &whose.allow_list()?, |id| seen.of(id), now)
        }
    };
    overview.name = Some(whose.name.to_string());
    if in_json {
        return output::print(&format!("{}\n", json(&overview, true)?));
    }
    let page = Page {
        columns: output::terminal().map(|(columns, _)| columns),
        ..Page::endless(now)
    };
    output::print(&format!("{}\n", page.peers(&overview)))?;
    match (overview.running, running(&whose.folder)) {
        (true, _) => {}
        (false, None) => output::say(format_args!("{} does not run", whose.name)),
        (false, Some(id)) => output::say(format_args!(
            "process {id} runs, and has no control socket to tell who is here"
        )),
    }
    Ok(())
}

/// Reads the JSON that a running program answered.
pub(super) fn parsed<T: DeserializeOwned>(answer: &str) -> Result<T> {
    serde_json::from_str(answer).map_err(|error| {
        let what = format!("the answer of the running program is none that is understood here ({error})");
        Failure::new(
            FailureKind::Network,
            what,
            "it may be of another version: start it again",
        )
    })
}

/// Facts as JSON, for `--json`: in lines for people, or in one.
pub(super) fn json(facts: &impl Serialize, in_lines: bool) -> Result<String> {
    let text = match in_lines {
        true => serde_json::to_string_pretty(facts),
        false => serde_json::to_string(facts),
    };
    text.map_err(|error| Failure::new(FailureKind::Internal, error.to_string(), "please report this"))
}

/// `sealcast peers restored`.
fn restored(args: &WhoseArgs, starts: u32) -> Result<()> {
    if args.viewer {
        let what = "a listening viewer has no key epochs";
        return Err(Failure::new(FailureKind::Usage, what, "leave out --viewer"));
    }
    let Whose {
        name, settings, home, ..
    } = whose(args, false)?;
    let file = files::identity_file(settings.config.identity.file.as_deref());
    let identity = read_identity(&file.unwrap_or_else(|| publisher::identity_file(&home, &name)))?;
    publisher::raise_epochs(&home, &name, &identity, GROUP_STREAM, starts)?;
    let done = "its next start is a new run";
    output::print(&format!(
        "{name}: left out {starts} × 2^20 epochs of its group; {done}\n"
    ))?;
    output::say("its lists are those of the copy: see `sealcast peers list`, and `sealcast peers withdraw all`");
    Ok(())
}

/// The name of the lists that a command is about: that which it or the configuration names, or the default one, or that
/// of the only ones.
fn lists_of(args: &WhoseArgs, settings: &Settings, home: &Path, kind: Kind, may_be_new: bool) -> Result<ListName> {
    let all = kind.directory(home);
    let configured = settings
        .config
        .publish
        .name
        .as_deref()
        .filter(|_| kind == Kind::Publisher);
    let name = match (args.name.as_deref().or(configured), &args.listen) {
        (Some(name), _) => Some(name.parse()?),
        (None, Some(listen)) => Some(ListName::from(&listen.parse::<ListenUrl>()?)),
        (None, None) => None,
    };
    if kind == Kind::Publisher {
        let first = name.clone().map_or_else(|| name_of(settings, End::Publisher), Ok)?;
        publisher::take_over_lists(home, &first, former_name(settings)?.as_ref())?;
    }
    let by_default = || match kind {
        Kind::Publisher => default_or_only(home),
        Kind::Viewer => only(&all),
    };
    let name = name.map_or_else(by_default, Ok)?;
    if !all.join(name.to_string()).is_dir() && !may_be_new {
        let names: Vec<String> = names(&all).iter().map(ListName::to_string).collect();
        let what = format!("there are no lists of the name {name} in {}", all.display());
        let hint = match names.is_empty() {
            true => "they are made when a publisher starts, or by peers allow".to_owned(),
            false => format!("name one with --name: {}", names.join(", ")),
        };
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    Ok(name)
}

/// The name of the default publisher, if it has lists, or else of the only one there is.
pub(super) fn default_or_only(home: &Path) -> Result<ListName> {
    let all = Kind::Publisher.directory(home);
    let default = End::Publisher.default_name().filter(|name| all.join(name).is_dir());
    default.map_or_else(|| only(&all), str::parse)
}

/// The name of the only lists there are.
fn only(all: &Path) -> Result<ListName> {
    match &names(all)[..] {
        [name] => Ok(name.clone()),
        [] => Err(Failure::new(
            FailureKind::Usage,
            format!("there are no lists of peers in {}", all.display()),
            "they are made when a publisher starts, or by peers allow with --name",
        )),
        several => {
            let names: Vec<String> = several.iter().map(ListName::to_string).collect();
            let what = format!("there are lists of several ends in {}", all.display());
            Err(Failure::new(
                FailureKind::Usage,
                what,
                format!("name one with --name: {}", names.join(", ")),
            ))
        }
    }
}

fn names(all: &Path) -> Vec<ListName> {
    let entries = std::fs::read_dir(all).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}
