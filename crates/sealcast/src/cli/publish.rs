//! `sealcast publish`.

use std::sync::Arc;

use sealcast_proto::keys::{Identity, PeerId, Role};
use sealcast_proto::session::Delivery;
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::TransportKind;
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;

use super::args::{PublishArgs, SessionArgs};
use super::awaited_addresses::wait_for_addresses;
use super::cameras::warn_of_fixed;
use super::hand_out::{Start, TO_WATCH, listen_for_browsers, way_to};
use super::publish_cameras::{Opener, open_all};
use super::ticket::{check_ticket, ticket};
use super::{build, data, peers, shutdown};
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::keys::files::End;
use crate::keys::publisher::Publisher;
use crate::meter::metrics::Metrics;
use crate::platform::service_manager;
use crate::run::session::ways::{Way, Ways};
use crate::run::{
    Admission, CameraOptions, ControlSocket, DataOptions, Observation, Offer, PublishOptions, PublishedCamera,
    QueueLimits, RelayUrl, Renewal, RuntimeSettings, Viewers, build_info, publish,
};
use crate::transport::{Advertised, ListenUrl, Listener, Mtu, NetworkOptions};

pub(super) fn run(args: PublishArgs) -> Result<()> {
    shutdown::runtime()?.block_on(run_async(args))
}

async fn run_async(args: PublishArgs) -> Result<()> {
    // From here on SIGHUP no longer ends the program.
    let hangups = shutdown::hangups()?;
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.publish;
    build::check_publishing(&settings)?;
    let data = data::published(&settings)?;
    check_ticket(configured.to.as_deref())?;
    let sealing = publisher_sealing(&settings)?;
    // Reject invalid cameras before anything is created or bound.
    let opener = Arc::new(Opener::new(&settings, sealing.shape)?);
    let cameras = opener.cameras(&args)?;
    let publisher = Arc::new(peers::publisher(&settings, End::Publisher)?);
    opener.publish_by(&publisher);
    let mut offer = build::offer_of(&args.session, Arc::clone(&publisher.identity), sealing, &settings)?;
    build::check_relay_client(opener.relays())?;
    let admission = admission(&settings, opener.relays(), &publisher)?;
    let control = ControlSocket::open(configured.control.as_deref(), publisher.folder())?;
    let metrics = Metrics::new(build_info());
    let start = Start::of(&settings, &publisher, &admission, TO_WATCH)?;
    wait_for_addresses(&settings).await;
    let (viewers, ways) = viewers(&settings, opener.relays(), &offer.identity, metrics.clone())?;
    offer.unit = unit_in_force(&settings, scheme_of_datagrams(&viewers))?;
    build::check_carrier(&settings, offer.shape, is_quic(&viewers))?;
    // Open the sources first, so that the ticket is handed out only when there is something to see, or to wait for.
    let cameras = open_all(cameras).await?;
    let end = Publishing {
        kind: "publish",
        args: &args.session,
        settings: &settings,
        source: configured.source.as_deref(),
        control,
        start,
        ways,
        cameras,
        packets_alone: None,
        offer,
        admission: &admission,
        viewers,
        data,
    };
    let again = |now: &Settings| Arc::new(opener.renewed(now)?).cameras(&args);
    end.run(metrics, hangups, again).await
}

/// A publishing end that is ready to be told of.
pub(super) struct Publishing<'a> {
    /// The command, for its report.
    pub(super) kind: &'static str,
    pub(super) args: &'a SessionArgs,
    pub(super) settings: &'a Settings,
    /// The source, as it was said here.
    pub(super) source: Option<&'a str>,
    pub(super) control: Option<ControlSocket>,
    pub(super) start: Start<'a>,
    pub(super) ways: Ways,
    pub(super) cameras: Vec<(PublishedCamera, CameraOptions)>,
    pub(super) packets_alone: Option<RuntimeSettings>,
    pub(super) offer: Offer,
    pub(super) admission: &'a Arc<Admission>,
    pub(super) viewers: Viewers,
    pub(super) data: DataOptions,
}

impl Publishing<'_> {
    /// Hand out the tickets, and publish until the end. On SIGHUP the cameras and the lists of peers are read `again`.
    pub(super) async fn run(
        self,
        metrics: Metrics,
        hangups: Signal,
        again: impl Fn(&Settings) -> Result<Vec<PublishedCamera>>,
    ) -> Result<()> {
        let (args, settings) = (self.args, self.settings);
        // Signals are answered before anybody has the ticket.
        let stop = shutdown::stop_signal(args.time())?;
        let observing = Observation::start(self.kind, build::observe(settings)?, metrics).await?;
        let (observation, ways) = (observing.observation(), Arc::new(self.ways));
        let control = match self.start.hand_out(Arc::clone(&ways), self.control) {
            Ok(control) => control,
            Err(failure) => return observing.finish(Err(failure)),
        };
        note_settings(&observation, settings, &self.offer);
        if let Some(source) = self.source {
            observation.setting("source", source);
        }
        let (renew, renewals) = mpsc::channel(1);
        let end = match self.packets_alone {
            Some(_) => End::GatewayCamera,
            None => End::Publisher,
        };
        let configured = &settings.config.publish;
        let options = PublishOptions {
            cameras: self.cameras,
            packets_alone: self.packets_alone,
            offer: self.offer,
            admission: Arc::clone(self.admission),
            max_viewers: configured.max_viewers.get() as usize,
            queue: QueueLimits {
                frames: configured.queue_frames.get() as usize,
                ..QueueLimits::default()
            },
            viewers: self.viewers,
            control,
            renewals,
            ways: Some(ways),
            data: self.data,
        };
        let read_again = async || {
            let now = build::settings(args)?;
            let renewal = Renewal {
                cameras: again(&now)?,
                by_hand: peers::viewers_by_hand(&now, end)?,
                may_control: data::may_control(&now)?,
            };
            warn_of_fixed(&now.config, &settings.config);
            // Sending fails only while the publisher is ending.
            drop(renew.send(renewal).await);
            Ok(())
        };
        service_manager::ready();
        let outcome = tokio::select! {
            outcome = publish(options, observation, stop) => outcome,
            never = shutdown::on_hangup(hangups, read_again) => match never {},
        };
        observing.finish(outcome)
    }
}

/// Admission at this publisher. If it connects to its viewer and names no relay, nobody else comes.
fn admission(settings: &Settings, relays: &[RelayUrl], publisher: &Publisher) -> Result<Arc<Admission>> {
    match settings.config.publish.to {
        Some(_) if relays.is_empty() => Ok(Arc::new(Admission::in_memory())),
        _ => peers::viewers(settings, End::Publisher, publisher),
    }
}

/// Notes in the report how this publisher was started.
fn note_settings(observation: &Observation, settings: &Settings, offer: &Offer) {
    observation.setting("peer", &offer.identity.peer_id().to_string());
    observation.setting("unit", &offer.unit.to_string());
    observation.setting("shape", &offer.shape.to_string());
    if let Some(seed) = settings.config.publish.encrypt_seed {
        observation.setting("encrypt_seed", &seed.to_string());
    }
}

/// The sealing parameters of a publishing end. The seed of a selection by rate is random unless the user sets it to
/// repeat a run.
pub(super) fn publisher_sealing(settings: &Settings) -> Result<build::Sealing> {
    let seed = settings.config.publish.encrypt_seed;
    Ok(build::Sealing {
        rekey: build::rekey(settings)?,
        unit: build::unit(settings)?.unwrap_or(Unit::Frame),
        seed: seed.map_or_else(|| entropy::random().map(u64::from_be_bytes), Ok)?,
        shape: build::shape(settings)?,
    })
}

/// The viewers' scheme, if it uses datagrams and frames do not fit in them.
fn scheme_of_datagrams(viewers: &Viewers) -> Option<&'static str> {
    let udp = match viewers {
        Viewers::Listen { listeners, .. } => listeners.iter().any(|listener| matches!(listener, Listener::Udp(_))),
        Viewers::Connect(ticket) => ticket.transport == TransportKind::Udp,
    };
    udp.then_some("udp")
}

fn is_quic(viewers: &Viewers) -> bool {
    match viewers {
        Viewers::Listen { listeners, .. } => listeners.iter().any(|listener| matches!(listener, Listener::Quic(_))),
        Viewers::Connect(ticket) => ticket.transport == TransportKind::Quic,
    }
}

/// The unit of sealing for the viewers' transport. Frames do not fit in datagrams: there the default is packets, and
/// asking for frames is an error.
pub(super) fn unit_in_force(settings: &Settings, datagrams: Option<&str>) -> Result<Unit> {
    match (build::unit(settings)?, datagrams) {
        (None, None) => Ok(Unit::Frame),
        (None, Some(_)) => Ok(Unit::Packet),
        (Some(Unit::Frame), Some(scheme)) => {
            let failure = Failure::new(
                FailureKind::Usage,
                format!("a whole frame cannot be sealed at once over {scheme}://: it does not fit a datagram"),
                "use --unit packet or --unit chunk:N, or tcp://",
            );
            Err(settings.placed("publish.unit", failure))
        }
        (Some(unit), _) => Ok(unit),
    }
}

/// The origin of the viewers, and the ways here if they connect to us.
fn viewers(settings: &Settings, relays: &[RelayUrl], identity: &Identity, metrics: Metrics) -> Result<(Viewers, Ways)> {
    let configured = &settings.config.publish;
    if let Some(to) = &configured.to {
        let ways = ways_through(relays, identity.peer_id()).collect();
        return Ok((Viewers::Connect(ticket(to)?), Ways::new(Role::Publisher, ways)));
    }
    let advertised = advertised(settings)?;
    let (listener, delivery, way) = listen(settings, &advertised, identity, metrics.clone(), Mtu::default())?;
    let (mut listeners, mut ways) = (vec![listener], vec![way]);
    for url in &configured.also_listen {
        let also = also_listen(settings, url, &advertised, identity, metrics.clone());
        let (listener, way) = also.map_err(|failure| settings.placed("publish.also_listen", failure))?;
        listeners.push(listener);
        ways.push(way);
    }
    if let Some(web) = &configured.web {
        let place = |failure| settings.placed("publish.web", failure);
        let url = web.parse().map_err(place)?;
        let peer = identity.peer_id();
        let (listener, way) = listen_for_browsers(&url, &advertised, Role::Publisher, peer, &metrics).map_err(place)?;
        listeners.push(listener);
        ways.push(way);
    }
    one_port(&advertised, &listeners).map_err(|failure| settings.placed("publish.advertise", failure))?;
    ways.extend(ways_through(relays, identity.peer_id()));
    let stream_budget = build::listen_url(settings)?.options.stream_latency;
    let viewers = Viewers::Listen {
        listeners,
        delivery,
        stream_budget,
    };
    Ok((viewers, Ways::new(Role::Publisher, ways)))
}

/// The ways through these relays.
fn ways_through(relays: &[RelayUrl], camera: PeerId) -> impl Iterator<Item = Way> {
    relays.iter().filter_map(move |relay| {
        let Some(ticket) = relay.ticket(camera) else {
            tracing::info!(%relay, "no ticket can name this relay: viewers give its address as --relay");
            return None;
        };
        Some(Box::new(move || Ok(ticket.clone())) as Way)
    })
}

/// Another listening socket, with the options of the first, and the way to it.
fn also_listen(
    settings: &Settings,
    url: &str,
    advertised: &Advertised,
    identity: &Identity,
    metrics: Metrics,
) -> Result<(Listener, Way)> {
    let mut url: ListenUrl = url.parse()?;
    if url.options != NetworkOptions::default() {
        let hint = "write the options after the URL of --listen, where they hold for all";
        return Err(Failure::new(
            FailureKind::Usage,
            "a further listening URL has no options",
            hint,
        ));
    }
    url.options = build::listen_url(settings)?.options;
    let listener = Listener::bind(&url, identity, Role::Publisher, metrics)?;
    tell_where(&listener, url)?;
    let way = way_to(&listener, url, advertised, identity.peer_id())?;
    Ok((listener, way))
}

/// The addresses that the user gives for tickets.
pub(super) fn advertised(settings: &Settings) -> Result<Advertised> {
    let advertised = Advertised::parse(&settings.config.publish.advertise);
    advertised.map_err(|failure| settings.placed("publish.advertise", failure))
}

/// Fails if the user gives a port for tickets of listeners that have several.
pub(super) fn one_port(advertised: &Advertised, listeners: &[Listener]) -> Result<()> {
    let ports = listeners.iter().map(|listener| Ok(listener.local_address()?.port()));
    let ports: Vec<u16> = ports.collect::<Result<_>>()?;
    if advertised.has_port() && ports.iter().any(|port| *port != ports[0]) {
        let what = "one advertised port cannot lead to several ports that are listened at";
        let hint = "leave the port out of --advertise, or listen at one port";
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    Ok(())
}

fn tell_where(listener: &Listener, url: ListenUrl) -> Result<()> {
    let address = format!("{}://{}", url.transport().name(), listener.local_address()?);
    tracing::info!(address, "listening");
    Ok(())
}

/// The listening socket of a publishing end, its delivery of media, and the way to it.
/// `mtu` applies if the URL's options do not set the MTU.
pub(super) fn listen(
    settings: &Settings,
    advertised: &Advertised,
    identity: &Identity,
    metrics: Metrics,
    mtu: Mtu,
) -> Result<(Listener, Delivery, Way)> {
    let url = build::listen_url(settings)?;
    let listener = Listener::bind(&url, identity, Role::Publisher, metrics)?;
    tell_where(&listener, url)?;
    let delivery = url.options.delivery(mtu);
    let way = way_to(&listener, url, advertised, identity.peer_id())
        .map_err(|failure| settings.placed("publish.advertise", failure))?;
    Ok((listener, delivery, way))
}
