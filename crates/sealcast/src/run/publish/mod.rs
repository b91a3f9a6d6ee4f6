//! The publisher: its cameras, listening sockets (or a viewer to connect to), and a task for every viewer.

pub(crate) mod camera;
pub(crate) mod camera_life;
pub(crate) mod camera_telling;
pub(crate) mod cameras;
pub(crate) mod chosen_camera;
pub(crate) mod departure;
pub(crate) mod gateways;
pub(crate) mod serve_data;
pub(crate) mod serve_member;
pub(crate) mod serve_viewer;
pub(crate) mod subscription;
pub(crate) mod viewer_path;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Role;
use sealcast_proto::session::{Delivery, SessionError};
use sealcast_proto::wire::{CloseReason, Ticket};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::failure::{Failure, FailureKind, Result};
use crate::run::control::socket::ControlSocket;
use crate::run::control::{self, Controlled};
use crate::run::data::{DataOptions, PublishedData};
use crate::run::media::queue::QueueLimits;
use crate::run::session::accept::{Acceptor, PendingSession};
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::attempts::Attempts;
use crate::run::session::connection;
use crate::run::session::ended::{handshake_failure, last_words_failure};
use crate::run::session::exchange::HandshakeTimer;
use crate::run::session::observe::Observation;
use crate::run::session::offer::{CarrierConfig, Offer};
use crate::run::session::registry::Renewal;
use crate::run::session::retry::turned_on;
use crate::run::session::runtime_settings::RuntimeSettings;
use crate::run::session::ways::Ways;
use crate::transport::{Connected, Listener, NetworkOptions, Reach, RelayedListener, relayed_sessions};
use camera::Camera;
use camera_life::{CameraOptions, InCommon, Taps};
use cameras::{CameraDefinition, Ended, PublishedCamera, PublishedCameras};
use departure::Departure;
use gateways::GatewaySessions;
use serve_viewer::serve_viewer;

/// Time limit for sending the queued frames to the viewers after the source has ended.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

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
    /// The cameras, and what they are opened to.
    pub cameras: Vec<(PublishedCamera, CameraOptions)>,
    /// Identity, suites, mechanisms.
    pub offer: Offer,
    /// Settings by which packets are sealed, if there are packets for gateways alone.
    pub packets_alone: Option<RuntimeSettings>,
    /// Decides which viewers are admitted.
    pub admission: Arc<Admission>,
    /// Maximum number of viewers at once, of all cameras together.
    pub max_viewers: usize,
    /// Limits of each viewer's queue.
    pub queue: QueueLimits,
    /// Origin of the viewers.
    pub viewers: Viewers,
    /// The socket for commands.
    pub control: Option<ControlSocket>,
    /// Other cameras and lists for the running publisher.
    pub renewals: mpsc::Receiver<Renewal<CameraDefinition>>,
    /// The ways here, of which viewers are told, if they are.
    pub ways: Option<Arc<Ways>>,
    /// Data channels beside the picture.
    pub data: DataOptions,
}

/// A publisher whose sources are running.
pub struct Publisher {
    cameras: Arc<PublishedCameras>,
    ends: mpsc::UnboundedReceiver<Ended>,
    relayed: RelayedListener,
    viewers: Viewers,
    control: Option<ControlSocket>,
    renewals: mpsc::Receiver<Renewal<CameraDefinition>>,
}

/// Publish until all sources have ended or `stop` turns true.
///
/// # Errors
/// All sources have ended and one failed, or the viewer that the publisher connects to refuses it.
pub async fn publish(
    options: PublishOptions,
    observation: Arc<Observation>,
    stop: watch::Receiver<bool>,
) -> Result<()> {
    Publisher::start(options, observation, Taps::default())?.run(stop).await
}

impl Publisher {
    /// Starts the cameras; `taps` are of the first one.
    pub(crate) fn start(options: PublishOptions, observation: Arc<Observation>, taps: Taps) -> Result<Self> {
        let stream_budget = match &options.viewers {
            Viewers::Listen { stream_budget, .. } => *stream_budget,
            Viewers::Connect(_) => NetworkOptions::default().stream_latency,
        };
        let data = PublishedData::open(options.data, &observation.metrics)?;
        let common = InCommon {
            data,
            observation,
            admission: options.admission,
            places: AdmittedPlaces::new(options.max_viewers),
            offer: options.offer,
            queue: options.queue,
            stream_budget,
            ways: options.ways,
        };
        let (arrivals, relayed) = relayed_sessions();
        let (ending, ends) = mpsc::unbounded_channel();
        if let Some(settings) = &options.packets_alone {
            settings.begin(&common.observation);
        }
        let gateways = GatewaySessions::new(options.packets_alone);
        let cameras = PublishedCameras::new(common, gateways, arrivals, ending);
        cameras.begin(options.cameras, taps)?;
        Ok(Self {
            cameras: Arc::new(cameras),
            ends,
            relayed,
            viewers: options.viewers,
            control: options.control,
            renewals: options.renewals,
        })
    }

    /// Its first camera, for the demo.
    pub(crate) fn camera(&self) -> Arc<Camera> {
        self.cameras.first()
    }

    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) -> Result<()> {
        let Self {
            cameras,
            mut ends,
            relayed,
            viewers,
            control,
            mut renewals,
        } = self;
        let end: Arc<dyn Controlled> = Arc::<PublishedCameras>::clone(&cameras);
        let controlled = control::commands(control, end);
        let (tasks_stop, tasks_stopped) = watch::channel(false);
        let (over, is_over) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let connects = matches!(viewers, Viewers::Connect(_));
        let outcome = {
            let serving = serve(&cameras, viewers, relayed, &mut tasks, (&tasks_stopped, is_over));
            let renewing = async {
                while let Some(renewal) = renewals.recv().await {
                    cameras.renew(renewal).await;
                }
                std::future::pending().await
            };
            tokio::pin!(serving);
            let outcome = tokio::select! {
                outcome = &mut serving => Err(outcome),
                never = controlled => match never {},
                never = renewing => match never {},
                _ = turned_on(&mut stop) => {
                    // Sending fails if all tasks have already ended.
                    let _ = tasks_stop.send(true);
                    Ok(Ok(()))
                }
                outcome = all_ended(&cameras, &mut ends) => Ok(outcome),
            };
            // Who waits for it is gone if the program stops.
            let _ = over.send(true);
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
        cameras.end_all().await;
        outcome
    }
}

/// Wait until all cameras have ended. Returns the failure of the first that failed.
async fn all_ended(cameras: &PublishedCameras, ends: &mut mpsc::UnboundedReceiver<Ended>) -> Result<()> {
    let mut outcomes = Vec::new();
    while let Some(ended) = ends.recv().await {
        if let Some(outcome) = cameras.note_ended(ended, &mut outcomes) {
            return outcome;
        }
    }
    std::future::pending().await
}

/// Serve the viewers, wherever they come from.
async fn serve(
    cameras: &Arc<PublishedCameras>,
    viewers: Viewers,
    relayed: RelayedListener,
    tasks: &mut JoinSet<()>,
    (stop, over): (&watch::Receiver<bool>, watch::Receiver<bool>),
) -> Result<()> {
    match viewers {
        Viewers::Listen {
            mut listeners,
            delivery,
            ..
        } => {
            listeners.push(Listener::Relayed(relayed));
            accept(cameras, listeners, delivery, tasks, stop).await
        }
        Viewers::Connect(ticket) => {
            let behind_relays = vec![Listener::Relayed(relayed)];
            let accepting = accept(cameras, behind_relays, Delivery::default(), tasks, stop);
            tokio::select! {
                outcome = keep_connected(cameras, &ticket, stop, over) => outcome,
                outcome = accepting => outcome,
            }
        }
    }
}

/// Accept viewers and serve each in a task of its own.
async fn accept(
    cameras: &Arc<PublishedCameras>,
    listeners: Vec<Listener>,
    delivery: Delivery,
    tasks: &mut JoinSet<()>,
    stop: &watch::Receiver<bool>,
) -> Result<()> {
    let common = &cameras.common;
    let door = Acceptor {
        role: Role::Publisher,
        offer: &common.offer,
        admission: &common.admission,
        delivery: Delivery {
            rate: delivery.rate.map(|_| cameras.rate()),
            ..delivery
        },
        clock: common.observation.clock,
        metrics: &common.observation.metrics,
        ways: common.ways.as_ref(),
    };
    let serve = |pending: PendingSession| {
        let (cameras, stop) = (Arc::clone(cameras), stop.clone());
        async move {
            serve_viewer(cameras, pending, stop).await;
        }
    };
    door.accept(listeners, tasks, serve).await
}

/// Keep a connection to a listening viewer, reconnecting after failures.
async fn keep_connected(
    cameras: &Arc<PublishedCameras>,
    ticket: &Ticket,
    stop: &watch::Receiver<bool>,
    is_over: watch::Receiver<bool>,
) -> Result<()> {
    let common = &cameras.common;
    let (mut attempts, mut reach) = (Attempts::new(common.offer.attended), Reach::new(ticket.clone()));
    loop {
        let metrics = common.observation.metrics.clone();
        let connect = reach.connect(Role::Publisher, common.offer.unit, metrics);
        let connected = tokio::select! {
            connected = connect => connected,
            () = over(is_over.clone(), stop) => return Ok(()),
        };
        let mut proved = None;
        let failed = match connected {
            Ok(connected) => {
                let Connected {
                    transport,
                    carrier,
                    remote,
                } = connected;
                let delivery = Delivery {
                    rate: Some(cameras.rate()),
                    has_others: reach.has_others(),
                    ..Delivery::default()
                };
                let carrier_config = CarrierConfig { carrier, delivery };
                let role = (Role::Publisher, common.offer.wish);
                let initiating = common
                    .offer
                    .initiate(role, reach.ticket(), carrier_config, &common.observation);
                let initiated = initiating.await?;
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
                let departure = serve_viewer(Arc::clone(cameras), pending, stop.clone()).await;
                reach.ended(departure.stood);
                note_end(&mut attempts, &departure, began);
                refusal(&departure).map(|failure| (failure, departure.reason))
            }
            Err(failure) => Some((failure, None)),
        };
        if let Some((mut failure, said)) = failed {
            if common.offer.looks_again(&mut reach, proved, &mut failure) {
                continue;
            }
            if !attempts.go_on(&failure, said, Instant::now()) {
                return Err(failure);
            }
            attempts.tell(&failure);
        }
        tokio::select! {
            biased;
            () = over(is_over.clone(), stop) => return Ok(()),
            () = attempts.pause() => {}
        }
    }
}

/// A session that stood counts, and one that lasted resets the pauses between attempts.
fn note_end(attempts: &mut Attempts, departure: &Departure, began: Instant) {
    if departure.stood {
        attempts.stood();
        if began.elapsed() > STABLE {
            attempts.begin_anew();
        }
    }
}

/// Wait until all sources have ended or the program should stop.
async fn over(mut is_over: watch::Receiver<bool>, stop: &watch::Receiver<bool>) {
    let mut stop = stop.clone();
    tokio::select! {
        _ = turned_on(&mut stop) => {}
        _ = turned_on(&mut is_over) => {}
    }
}

/// The failure that the end of a session with a listening viewer means, if there is one.
fn refusal(departure: &Departure) -> Option<Failure> {
    let at = format!("the viewer at {}", departure.remote);
    match (&departure.ended, departure.reason) {
        (_, Some(CloseReason::NotAuthorised)) => Some(Failure::new(
            FailureKind::Refused,
            format!("{at} does not let us in"),
            "ask it for a ticket with an invite, or to allow your peer id",
        )),
        (_, Some(CloseReason::Replaced)) => last_words_failure(&at, CloseReason::Replaced, ""),
        (connection::Ended::Session(SessionError::Handshake(error)), _) => Some(handshake_failure(&at, *error)),
        _ => None,
    }
}
