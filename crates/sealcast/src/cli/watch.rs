//! `sealcast watch`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::group::GroupName;
use sealcast_proto::keys::{PeerId, Role};
use sealcast_proto::session::{GroupPolicy, OpenedBy, RekeyPolicy};
use sealcast_proto::wire::Ticket;
use tokio::signal::unix::Signal;
use tokio::sync::Notify;

use super::args::WatchArgs;
use super::hand_out::{Start, TO_PUBLISH, listen_for_browsers, way_to};
use super::publish::one_port;
use super::ticket::ticket_in_force;
use super::{build, data, peers, shutdown, sink};
use crate::config::Settings;
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files::{self, End};
use crate::keys::peers::{ListName, Terms};
use crate::keys::seen_groups::SeenGroups;
use crate::meter::metrics::Metrics;
use crate::run::session::ways::Ways;
use crate::run::{
    Admission, ControlSocket, GROUP_STREAM, Observation, Offer, PublisherAt, QueueLimits, RelayUrl, WatchOptions,
    build_info, watch,
};
use crate::transport::{Advertised, DEFAULT_LATENCY_MS, ListenUrl, Listener, WebUrl};

/// Command that gives a viewer its ticket.
const TYPED: &str = "sealcast watch @FILE";

pub(super) fn run(args: WatchArgs) -> Result<()> {
    shutdown::single_threaded_runtime()?.block_on(run_async(args))
}

async fn run_async(args: WatchArgs) -> Result<()> {
    let listens = args.listen.is_some() || args.web.is_some();
    let hangups = listens.then(shutdown::hangups).transpose()?;
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.watch;
    let wished_camera = build::wished_camera(&settings)?;
    let sign = build::sign_mode(&settings, "watch.require_sign", &configured.require_sign)?;
    let ticket = || ticket_in_force(configured.ticket.as_ref(), configured.ticket_file.as_deref(), TYPED);
    let ticket = (!listens).then(ticket).transpose()?;
    let relays = relays(&settings, ticket.as_ref())?;
    let data = data::watched(&settings, !relays.is_empty())?;
    let listen_url = args.listen.as_deref().map(str::parse::<ListenUrl>).transpose()?;
    let web_url = args.web.as_deref().map(str::parse::<WebUrl>).transpose()?;
    let sink_url = &configured.to;
    let metrics = Metrics::new(build_info());
    let mut sink = sink::open(sink_url, &metrics).map_err(|failure| settings.placed("watch.to", failure))?;
    let sealing = build::Sealing::without_media(RekeyPolicy::default());
    let mut offer = build::own_offer(&args.session, End::Viewer, sealing, &settings)?;
    offer.wish.camera = wished_camera;
    offer.join_groups(GroupPolicy {
        sign,
        opened_by: opened_by(&relays),
    });
    let peer = offer.identity.peer_id();
    // Signals are answered before anybody has the ticket.
    let (began, closed) = (Instant::now(), Arc::new(Notify::new()));
    let asked = Arc::clone(&closed);
    let stop = shutdown::stop_signal_or(args.session.time(), async move { asked.notified().await })?;
    let (mut publisher, budget, listening) = match ticket {
        None => listen(&args, (listen_url, web_url), &offer, &metrics)?,
        Some(ticket) => {
            let budget = Duration::from_millis(ticket.latency.unwrap_or(DEFAULT_LATENCY_MS).into());
            (PublisherAt::Connect(ticket), budget, None)
        }
    };
    let budget = args.latency.budget().unwrap_or(budget);
    sink.when_closed(Box::new(move || closed.notify_one()));
    let observing = Observation::start("watch", build::observe(&settings)?, metrics).await?;
    let observation = observing.observation();
    if let Some(Err(failure)) = listening.map(|listening| listening.hand_out(&args, &mut publisher)) {
        return observing.finish(Err(failure));
    }
    note_settings(&observation, sink_url, peer);
    let admission = match &publisher {
        PublisherAt::Listen { admission, .. } => Some(Arc::clone(admission)),
        PublisherAt::Connect(_) => None,
    };
    let seen = seen_groups(&offer, &publisher);
    let options = WatchOptions {
        publisher,
        offer,
        sink,
        budget,
        stream_budget: args.latency.budget(),
        queue: QueueLimits::default(),
        sound: configured.sound,
        reconnect: configured.reconnect,
        without_session: configured.without_session,
        seen,
        relays,
        data,
    };
    let read_again = read_again(hangups.zip(admission), &args);
    let outcome = tokio::select! {
        outcome = watch(options, observation, stop) => outcome,
        never = read_again => match never {},
    };
    let outcome = shutdown::in_time(outcome, began, args.session.time(), &observing.observation());
    observing.finish(outcome)
}

/// Notes how this viewer was started.
fn note_settings(observation: &Observation, sink: &str, peer: PeerId) {
    observation.setting("sink", sink);
    observation.setting("peer", &peer.to_string());
    tracing::info!(peer = %peer, sink = %redact(sink), "viewer");
}

/// Reads who is admitted again on every SIGHUP, if this viewer listens.
async fn read_again(listening: Option<(Signal, Arc<Admission>)>, args: &WatchArgs) -> Infallible {
    match listening {
        Some((hangups, admission)) => peers::read_again(hangups, &admission, || peers::publishers_by_hand(args)).await,
        None => std::future::pending().await,
    }
}

/// Progress of this end in the group of the camera that it connects to.
fn seen_groups(offer: &Offer, publisher: &PublisherAt) -> Arc<SeenGroups> {
    let PublisherAt::Connect(ticket) = publisher else {
        return SeenGroups::nowhere();
    };
    let group = GroupName {
        camera: ticket.peer,
        stream: GROUP_STREAM.into(),
    };
    let (own, camera) = (offer.identity.peer_id(), offer.wish.camera);
    files::home().map_or_else(
        |_| SeenGroups::nowhere(),
        |home| SeenGroups::at(&home.join("seen"), &own, &group, camera),
    )
}

/// Opener of frames that are sealed for a group: what comes through relays passes no session.
fn opened_by(relays: &[RelayUrl]) -> OpenedBy {
    match relays.is_empty() {
        true => OpenedBy::Session,
        false => OpenedBy::Program,
    }
}

/// The relays to watch through: that of the ticket first. Without a ticket there are none.
fn relays(settings: &Settings, ticket: Option<&Ticket>) -> Result<Vec<RelayUrl>> {
    let mut relays = build::relays(settings, "watch.relay", &settings.config.watch.relay)?;
    if ticket.is_none() && !relays.is_empty() {
        let hint = "watch with the camera's ticket";
        let failure = Failure::new(FailureKind::Usage, "who listens for a publisher has no relay", hint);
        return Err(settings.placed("watch.relay", failure));
    }
    relays.splice(..0, ticket.and_then(RelayUrl::of_ticket));
    build::check_relay_client(&relays)?;
    Ok(relays)
}

/// Ways, admission and socket of a viewer that listens.
struct Listening {
    ways: Ways,
    admission: Arc<Admission>,
    folder: Option<PathBuf>,
    control: Option<ControlSocket>,
}

impl Listening {
    /// Hands the tickets out, and gives the viewer its socket for commands.
    fn hand_out(self, args: &WatchArgs, publisher: &mut PublisherAt) -> Result<()> {
        let life = peers::life(args.invite_hours)?;
        let terms = args.publisher.is_none().then_some(Terms { uses: 1, life });
        let start = Start {
            admission: &self.admission,
            terms,
            file: args.ticket_file.as_deref(),
            folder: self.folder.as_deref(),
            typed: TO_PUBLISH,
        };
        let socket = start.hand_out(self.ways.into(), self.control)?;
        if let PublisherAt::Listen { control, .. } = publisher {
            *control = socket;
        }
        Ok(())
    }
}

/// Listen for a publisher at these places, of which there is one. Returns the viewer's latency budget as well, and what
/// is to be handed out.
fn listen(
    args: &WatchArgs,
    (listen, web): (Option<ListenUrl>, Option<WebUrl>),
    offer: &Offer,
    metrics: &Metrics,
) -> Result<(PublisherAt, Duration, Option<Listening>)> {
    let (advertised, peer) = (Advertised::parse(&args.advertise)?, offer.identity.peer_id());
    let (mut listeners, mut ways) = (Vec::new(), Vec::new());
    let mut budget = Duration::from_millis(DEFAULT_LATENCY_MS.into());
    let mut name = None;
    if let Some(listen) = listen {
        listen.without_publishers_options("a viewer")?;
        let listener = Listener::bind(&listen, &offer.identity, Role::Viewer, metrics.clone())?;
        budget = listen.options.latency;
        name = Some(ListName::from(&listen));
        ways.push(way_to(&listener, listen, &advertised, peer)?);
        listeners.push(listener);
    }
    if let Some(web) = web {
        let (listener, way) = listen_for_browsers(&web, &advertised, Role::Viewer, peer, metrics)?;
        ways.push(way);
        listeners.push(listener);
        name = name.or_else(|| Some(ListName::from(&web)));
    }
    let name = name.expect("one of the two is there");
    let (admission, folder) = peers::publishers(args, name)?;
    // A viewer that names its publisher invites nobody, and has no lists.
    let control = match args.publisher {
        Some(_) => None,
        None => ControlSocket::open(None, folder.as_deref())?,
    };
    one_port(&advertised, &listeners)?;
    let listening = Listening {
        ways: Ways::new(Role::Viewer, ways),
        admission: Arc::clone(&admission),
        folder,
        control,
    };
    let publisher = PublisherAt::Listen {
        listeners,
        admission,
        control: None,
    };
    Ok((publisher, budget, Some(listening)))
}
