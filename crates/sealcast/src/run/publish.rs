//! The publisher: one source, a listening socket (or a viewer to connect to), and a task for every viewer.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Role;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::{Delivery, SessionError};
use sealcast_proto::wire::{CloseReason, Ticket};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::accept::{Acceptor, PendingSession};
use super::admitted_places::AdmittedPlaces;
use super::attempts::Attempts;
use super::connection::Ended;
use super::control::{self, Controlled};
use super::ended::{handshake_failure, last_words_failure};
use super::exchange::HandshakeTimer;
use super::group::{Group, GroupOptions, drive};
use super::hub::SourceEnd;
use super::offer::CarrierConfig;
use super::publisher_state::{PublisherState, WireTap};
use super::relay::{Arrivals, Outlet, RelayUrl, feed};
use super::retry::turned_on;
use super::serve_viewer::{Departure, serve_viewer};
use super::shape::FrameProof;
use super::source_feed::Reopen;
use super::source_thread::{self, Tap};
use super::ways::Ways;
use super::{Admission, ControlSocket, Hub, Observation, Offer, QueueLimits, RuntimeSettings};
use crate::failure::{Failure, FailureKind, Result};
use crate::source::Source;
use crate::transport::{Connected, Listener, NetworkOptions, Reach, relayed_sessions};

/// The start rate for a source whose rate cannot be changed, bit/s: above the rate of most cameras.
pub(super) const PASSED_THROUGH: u64 = 30_000_000;
/// Time limit for sending the queued frames to the viewers after the source has ended.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for telling the relays that the stream is over.
const RELAY_PATIENCE: Duration = Duration::from_secs(2);

/// Time limit for the end of an attempt to open a source that is away.
const AWAY_PATIENCE: Duration = Duration::from_millis(500);

/// A connection that lasted this long counts as a success and resets the retry delay.
const STABLE: Duration = Duration::from_secs(5);

/// Origin of a publisher's viewers.
pub enum Viewers {
    /// They connect to these sockets.
    Listen {
        /// The sockets; at least one.
        listeners: Vec<Listener>,
        /// Delivery of media on carriers that may lose it.
        delivery: Delivery,
        /// On byte streams: age from which a frame gives way to a newer group of pictures.
        stream_budget: Duration,
    },
    /// The publisher connects to a listening viewer. Others come through relays alone.
    Connect(Ticket),
}

/// The settings of a publisher.
pub struct PublishOptions {
    /// The source of frames, or why it is not there yet: then `reopen` must open it.
    pub source: Result<Box<dyn Source>>,
    /// Opens the source again when it is away, if it should be waited for.
    pub reopen: Option<Reopen>,
    /// Identity, suites, mechanisms.
    pub offer: Offer,
    /// Decides which viewers are admitted.
    pub admission: Arc<Admission>,
    /// Maximum number of viewers at once.
    pub max_viewers: usize,
    /// Limits of each viewer's queue.
    pub queue: QueueLimits,
    /// Bounds of the bit rate. They apply where the path is measured and the source can change its rate.
    pub rate: RateConfig,
    /// False to leave out the sound of the source.
    pub sound: bool,
    /// Origin of the viewers.
    pub viewers: Viewers,
    /// Settings that can change at run time, such as the parts to encrypt.
    pub settings: RuntimeSettings,
    /// The socket for commands.
    pub control: Option<ControlSocket>,
    /// The ways here, of which viewers are told, if they are.
    pub ways: Option<Arc<Ways>>,
    /// Seals each frame once for all viewers who are content with it.
    pub group: Option<GroupOptions>,
    /// Relays that are given what is sealed for the group, at most [`MAX_RELAYS`](super::MAX_RELAYS).
    pub relays: Vec<RelayUrl>,
}

/// A publisher whose source is running.
pub struct Publisher {
    shared: Arc<PublisherState>,
    viewers: Viewers,
    source: JoinHandle<()>,
    control: Option<ControlSocket>,
    outlets: Vec<Outlet>,
}

/// Publish until the source ends or `stop` turns true.
///
/// # Errors
/// The source failed, or the viewer that the publisher connects to refuses it.
pub async fn publish(
    options: PublishOptions,
    observation: Arc<Observation>,
    stop: watch::Receiver<bool>,
) -> Result<()> {
    Publisher::start(options, observation, None, None)?.run(stop).await
}

impl Publisher {
    pub(super) fn start(
        options: PublishOptions,
        observation: Arc<Observation>,
        frame_tap: Option<Tap>,
        wire_tap: Option<WireTap>,
    ) -> Result<Self> {
        options.settings.begin(&observation);
        let mut source = options.source;
        let rate = first_rate(source.as_deref_mut().ok(), options.rate);
        let hub = Hub::new(options.queue, observation.metrics.clone()).with_rate(rate);
        let hub = Arc::new(hub);
        let (offer, queue) = (&options.offer, options.queue);
        let proof = options.group.as_ref().map_or(FrameProof::None, GroupOptions::proof);
        let group = options
            .group
            .map(|group| Group::new(group, offer, queue, &observation))
            .transpose()?;
        let outlets = match &group {
            Some(group) => options.relays.into_iter().map(|relay| group.relay(relay)).collect(),
            None => Vec::new(),
        };
        let source = source_thread::start(
            (source, options.reopen, options.sound),
            Arc::clone(&hub),
            observation.metrics.clone(),
            frame_tap,
            (options.offer.shape, proof),
            options.settings.selected(),
        )?;
        let stream_budget = match &options.viewers {
            Viewers::Listen { stream_budget, .. } => *stream_budget,
            Viewers::Connect(_) => NetworkOptions::default().stream_latency,
        };
        let shared = PublisherState {
            hub,
            observation,
            admission: options.admission,
            places: AdmittedPlaces::new(options.max_viewers),
            wire_tap,
            offer: options.offer,
            settings: options.settings,
            stream_budget,
            group: group.map(Arc::new),
            ways: options.ways,
        };
        Ok(Self {
            shared: Arc::new(shared),
            viewers: options.viewers,
            source,
            control: options.control,
            outlets,
        })
    }

    /// The hub of the frames, for the demo.
    pub(super) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.shared.hub)
    }

    /// The publisher as a control socket sees it, for the demo.
    pub(super) fn controlled(&self) -> Arc<dyn Controlled> {
        Arc::<PublisherState>::clone(&self.shared)
    }

    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) -> Result<()> {
        let Self {
            shared,
            viewers,
            source,
            control,
            outlets,
        } = self;
        let end: Arc<dyn Controlled> = Arc::<PublisherState>::clone(&shared);
        let controlled = control::commands(control, end);
        let (tasks_stop, tasks_stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let (arrivals, relayed) = relayed_sessions();
        let mut fed = feed_all(&shared, outlets, &arrivals);
        let connects = matches!(viewers, Viewers::Connect(_));
        let outcome = {
            let serving = async {
                match viewers {
                    Viewers::Listen {
                        mut listeners,
                        delivery,
                        ..
                    } => {
                        listeners.push(Listener::Relayed(relayed));
                        accept(&shared, listeners, delivery, &mut tasks, &tasks_stopped).await
                    }
                    Viewers::Connect(ticket) => {
                        let behind_relays = vec![Listener::Relayed(relayed)];
                        let accepting = accept(&shared, behind_relays, Delivery::default(), &mut tasks, &tasks_stopped);
                        tokio::select! {
                            outcome = keep_connected(&shared, &ticket, &tasks_stopped) => outcome,
                            outcome = accepting => outcome,
                        }
                    }
                }
            };
            tokio::pin!(serving);
            let outcome = tokio::select! {
                outcome = &mut serving => Err(outcome),
                never = controlled => match never {},
                failed = seal_for_group(&shared) => Err(Err(failed)),
                failed = cannot_feed(&mut fed) => Err(Err(failed)),
                _ = turned_on(&mut stop) => {
                    // Sending fails if all tasks have already ended.
                    let _ = tasks_stop.send(true);
                    Ok(Ok(()))
                }
                end = source_end(&shared) => Ok(match end {
                    SourceEnd::Complete => Ok(()),
                    SourceEnd::Failed(failure) => Err(failure),
                }),
            };
            if outcome.is_ok() && connects {
                // That viewer is served here and not in a task of its own: let it receive the rest of the stream and
                // the close message.
                let _ = tokio::time::timeout(DRAIN_PATIENCE, serving).await;
            }
            outcome.unwrap_or_else(|served| served)
        };
        let drained = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN_PATIENCE, drained).await.is_err() {
            tracing::warn!("a viewer did not take the rest of the stream within 10 s and was cut off");
        }
        finish_relays(&shared, fed).await;
        shared.hub.stop();
        end_of(source, shared.hub.standing.now().away.is_some()).await;
        outcome
    }
}

/// Wait for the source's thread, which was told to end; not for long if the source is away, since an attempt to open it
/// may last.
async fn end_of(source: JoinHandle<()>, away: bool) {
    let ended = async {
        while !source.is_finished() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    match away {
        // At the time limit it goes on, and ends with the program.
        true => drop(tokio::time::timeout(AWAY_PATIENCE, ended).await),
        false => ended.await,
    }
}

/// Seal for the group, if there is one, as long as that goes well.
async fn seal_for_group(shared: &Arc<PublisherState>) -> Failure {
    match &shared.group {
        Some(group) => match drive(Arc::clone(shared), Arc::clone(group)).await {
            Ok(never) => match never {},
            Err(failure) => failure,
        },
        None => std::future::pending().await,
    }
}

/// Give each relay what is sealed for the group, in a task of its own.
fn feed_all(shared: &Arc<PublisherState>, outlets: Vec<Outlet>, arrivals: &Arrivals) -> JoinSet<Result<()>> {
    let mut fed = JoinSet::new();
    if let Some(group) = &shared.group {
        for outlet in outlets {
            fed.spawn(feed(outlet, Arc::clone(shared), Arc::clone(group), arrivals.clone()));
        }
    }
    fed
}

/// Wait until a relay cannot be given anything at all.
async fn cannot_feed(fed: &mut JoinSet<Result<()>>) -> Failure {
    loop {
        match fed.join_next().await {
            Some(Ok(Err(failure))) => return failure,
            Some(Ok(Ok(()))) => {}
            Some(Err(_)) => tracing::error!("a relay is given nothing any more: please report this"),
            None => std::future::pending().await,
        }
    }
}

/// Let the clients tell their relays that the stream is over.
async fn finish_relays(shared: &PublisherState, mut fed: JoinSet<Result<()>>) {
    if let Some(group) = &shared.group {
        group.finish();
    }
    let told = async { while fed.join_next().await.is_some() {} };
    if tokio::time::timeout(RELAY_PATIENCE, told).await.is_err() {
        tracing::warn!("a relay was not told that the stream is over: viewers there wait for a while");
    }
}

/// The bounds of the rate for a source, or for one that is not there yet.
fn first_rate(source: Option<&mut (dyn Source + 'static)>, rate: RateConfig) -> RateConfig {
    match source.map(|source| source.set_bitrate(u64::MAX)) {
        Some(false) => passed_through(rate),
        Some(true) | None => rate,
    }
}

/// The bounds of the rate for a source whose rate cannot be changed. It keeps its own rate: starting below that would
/// gain nothing and lose pictures.
pub fn passed_through(rate: RateConfig) -> RateConfig {
    RateConfig {
        start: PASSED_THROUGH.min(rate.max),
        unsteered: true,
        ..rate
    }
}

/// Wait until the source has ended, and all of it is sealed for the group: that stops with the task that waits here.
pub(super) async fn source_end(shared: &PublisherState) -> SourceEnd {
    let over = || shared.group.as_ref().is_none_or(|group| group.is_over());
    shared.hub.ended(over).await
}

/// Accept viewers and serve each in a task of its own.
async fn accept(
    shared: &Arc<PublisherState>,
    listeners: Vec<Listener>,
    delivery: Delivery,
    tasks: &mut JoinSet<()>,
    stop: &watch::Receiver<bool>,
) -> Result<()> {
    let door = Acceptor {
        role: Role::Publisher,
        offer: &shared.offer,
        admission: &shared.admission,
        delivery: Delivery {
            rate: delivery.rate.map(|_| shared.hub.rate()),
            ..delivery
        },
        clock: shared.observation.clock,
        metrics: &shared.observation.metrics,
        ways: shared.ways.as_ref(),
    };
    let serve = |pending: PendingSession| {
        let (shared, stop) = (Arc::clone(shared), stop.clone());
        async move {
            serve_viewer(shared, pending, stop).await;
        }
    };
    door.accept(listeners, tasks, serve).await
}

/// Keep a connection to a listening viewer, reconnecting after failures.
async fn keep_connected(shared: &Arc<PublisherState>, ticket: &Ticket, stop: &watch::Receiver<bool>) -> Result<()> {
    let (mut attempts, mut reach) = (Attempts::new(shared.offer.attended), Reach::new(ticket.clone()));
    loop {
        let metrics = shared.observation.metrics.clone();
        let connect = reach.connect(Role::Publisher, shared.offer.unit, metrics);
        let connected = tokio::select! {
            connected = connect => connected,
            () = over(shared, stop) => return Ok(()),
        };
        let mut proved = None;
        let failed = match connected {
            Ok(connected) => {
                let Connected {
                    transport,
                    carrier,
                    remote,
                } = connected;
                let at = format!("the viewer at {remote}");
                let carrier_config = CarrierConfig {
                    carrier,
                    delivery: Delivery {
                        rate: Some(shared.hub.rate()),
                        ..Delivery::default()
                    },
                };
                let initiated = shared
                    .offer
                    .initiate(Role::Publisher, ticket, carrier_config, &shared.observation)
                    .await?;
                proved = initiated.known.proved();
                let pending = PendingSession {
                    transport,
                    session: initiated.session.into(),
                    delay_rate: carrier_config.delay_rate(),
                    remote,
                    timer: HandshakeTimer::begin("initiator", Some(initiated.keygen)),
                    known: Some(initiated.known),
                    place: None,
                    telling: None,
                };
                let began = Instant::now();
                let departure = serve_viewer(Arc::clone(shared), pending, stop.clone()).await;
                reach.ended(departure.stood);
                if departure.stood {
                    attempts.stood();
                    if began.elapsed() > STABLE {
                        attempts.begin_anew();
                    }
                }
                refusal(&at, &departure).map(|failure| (failure, departure.reason))
            }
            Err(failure) => Some((failure, None)),
        };
        if let Some((mut failure, said)) = failed {
            if shared.offer.looks_again(ticket, proved, &mut failure) {
                continue;
            }
            if !attempts.go_on(&failure, said, Instant::now()) {
                return Err(failure);
            }
            attempts.tell(&failure);
        }
        tokio::select! {
            biased;
            () = over(shared, stop) => return Ok(()),
            () = attempts.pause() => {}
        }
    }
}

/// Wait until the source has ended or the program should stop.
async fn over(shared: &PublisherState, stop: &watch::Receiver<bool>) {
    let mut stop = stop.clone();
    tokio::select! {
        _ = turned_on(&mut stop) => {}
        _ = source_end(shared) => {}
    }
}

/// The failure that the end of a session with a listening viewer means, if there is one.
fn refusal(at: &str, departure: &Departure) -> Option<Failure> {
    match (&departure.ended, departure.reason) {
        (_, Some(CloseReason::NotAuthorised)) => Some(Failure::new(
            FailureKind::Refused,
            format!("{at} does not let us in"),
            "ask it for a ticket with an invite, or to allow your peer id",
        )),
        (_, Some(CloseReason::Replaced)) => last_words_failure(at, CloseReason::Replaced, ""),
        (Ended::Session(SessionError::Handshake(error)), _) => Some(handshake_failure(at, *error)),
        _ => None,
    }
}
