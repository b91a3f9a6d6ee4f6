//! The publisher: one source, a listening socket (or a viewer to connect to), a task for every viewer.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Invite, Role};
use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::{Delivery, SessionError};
use sealcast_proto::wire::{CloseReason, Ticket};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::accept::{Acceptor, PendingSession};
use super::connection::Ended;
use super::control::{self, Controlled};
use super::hub::SourceEnd;
use super::observe::HandshakeTimer;
use super::offer::CarrierConfig;
use super::retry::turned_on;
use super::serve_viewer::{Departure, serve_viewer};
use super::shared::{Shared, WireTap};
use super::source_thread::{self, Tap};
use super::{Admission, ControlSocket, Hub, Observation, Offer, QueueLimits, Retry, RuntimeSettings};
use crate::failure::{Failure, FailureKind, Result};
use crate::source::Source;
use crate::transport::{self, Listener};

/// The first rate for a source that is passed through, bit/s: more than most cameras make.
pub(super) const PASSED_THROUGH: u64 = 30_000_000;
/// How long viewers may take to receive what is queued when the source ends.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// A connection that lasted this long was no failed attempt.
const STABLE: Duration = Duration::from_secs(5);

/// Where a publisher's viewers come from.
pub enum Viewers {
    /// They connect to this socket.
    Listen {
        /// The socket.
        listener: Listener,
        /// How media is delivered where it may be lost.
        delivery: Delivery,
    },
    /// The publisher connects to a listening viewer.
    Connect(Ticket),
}

/// What a publisher needs.
pub struct PublishOptions {
    /// Where frames come from.
    pub source: Box<dyn Source>,
    /// Identity, suites, mechanisms.
    pub offer: Offer,
    /// The invite of the ticket, if there is one.
    pub invite: Option<Invite>,
    /// Who is let in.
    pub admission: Admission,
    /// Most viewers at once.
    pub max_viewers: usize,
    /// Limits of each viewer's queue.
    pub queue: QueueLimits,
    /// Bounds of the bit rate, where paths are measured and the source can follow.
    pub rate: RateConfig,
    /// Where viewers come from.
    pub viewers: Viewers,
    /// What is encrypted, at first and later.
    pub settings: RuntimeSettings,
    /// Where commands come in.
    pub control: Option<ControlSocket>,
}

/// A publisher whose source runs.
pub struct Publisher {
    shared: Arc<Shared>,
    viewers: Viewers,
    source: JoinHandle<()>,
    control: Option<ControlSocket>,
}

/// Publish until the source ends or `stop` turns true.
///
/// # Errors
/// The source failed, or a viewer that should be connected to refuses us.
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
        let rate = first_rate(&mut *source, options.rate);
        let hub = Hub::new(options.queue, observation.metrics.clone()).with_rate(rate);
        let hub = Arc::new(hub);
        let source = source_thread::start(source, Arc::clone(&hub), observation.metrics.clone(), frame_tap)?;
        let shared = Shared {
            hub,
            observation,
            admission: options.admission,
            max_viewers: options.max_viewers,
            wire_tap,
            offer: options.offer,
            invite: options.invite,
            settings: options.settings,
        };
        Ok(Self {
            shared: Arc::new(shared),
            viewers: options.viewers,
            source,
            control: options.control,
        })
    }

    /// Where the frames pass, for the demo.
    pub(super) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.shared.hub)
    }

    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) -> Result<()> {
        let Self {
            shared,
            viewers,
            source,
            control,
        } = self;
        let end: Arc<dyn Controlled> = Arc::<Shared>::clone(&shared);
        let controlled = control::commands(control, end);
        let (tasks_stop, tasks_stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let connects = matches!(viewers, Viewers::Connect(_));
        let outcome = {
            let serving = async {
                match viewers {
                    Viewers::Listen { listener, delivery } => {
                        accept(&shared, listener, delivery, &mut tasks, &tasks_stopped).await
                    }
                    Viewers::Connect(ticket) => keep_connected(&shared, &ticket, &tasks_stopped).await,
                }
            };
            tokio::pin!(serving);
            let outcome = tokio::select! {
                outcome = &mut serving => Err(outcome),
                never = controlled => match never {},
                _ = turned_on(&mut stop) => {
                    // Nobody is left to hear it if all tasks have ended.
                    let _ = tasks_stop.send(true);
                    Ok(Ok(()))
                }
                end = source_end(&shared.hub) => Ok(match end {
                    SourceEnd::Complete => Ok(()),
                    SourceEnd::Failed(failure) => Err(failure),
                }),
            };
            if outcome.is_ok() && connects {
                // The one viewer is served here and in no task: it gets the rest of the stream, and a goodbye.
                let _ = tokio::time::timeout(DRAIN_PATIENCE, serving).await;
            }
            outcome.unwrap_or_else(|served| served)
        };
        let drained = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN_PATIENCE, drained).await.is_err() {
            tracing::warn!("a viewer did not take the rest of the stream within 10 s and was cut off");
        }
        shared.hub.stop();
        tokio::task::spawn_blocking(move || source.join()).await.ok();
        outcome
    }
}

/// The bounds of the rate for a source. One that cannot follow makes what it makes: nothing is won by beginning below
/// that, and pictures are lost.
fn first_rate(source: &mut dyn Source, rate: RateConfig) -> RateConfig {
    if source.set_bitrate(u64::MAX) {
        return rate;
    }
    RateConfig {
        start: PASSED_THROUGH.min(rate.max),
        unsteered: true,
        ..rate
    }
}

/// Wait until the source has ended and, for a moment, until the viewers' tasks have noticed.
async fn source_end(hub: &Hub) -> SourceEnd {
    loop {
        if let Some(end) = hub.end() {
            return end;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Accept viewers, each in a task of its own.
async fn accept(
    shared: &Arc<Shared>,
    listener: Listener,
    delivery: Delivery,
    tasks: &mut JoinSet<()>,
    stop: &watch::Receiver<bool>,
) -> Result<()> {
    let door = Acceptor {
        offer: &shared.offer,
        invite: shared.invite.as_ref(),
        delivery: Delivery {
            rate: delivery.rate.map(|_| shared.hub.rate()),
            ..delivery
        },
        clock: shared.observation.clock,
        max_viewers: shared.max_viewers,
    };
    let serve = |pending: PendingSession| {
        let (shared, stop) = (Arc::clone(shared), stop.clone());
        async move {
            serve_viewer(shared, pending, stop).await;
        }
    };
    door.accept(listener, tasks, serve).await
}

/// Connect to a listening viewer, again and again.
async fn keep_connected(shared: &Arc<Shared>, ticket: &Ticket, stop: &watch::Receiver<bool>) -> Result<()> {
    let mut retry = Retry::default();
    let mut established = false;
    loop {
        let connect = transport::connect(ticket, shared.offer.unit, shared.observation.metrics.clone());
        let connected = tokio::select! {
            connected = connect => connected,
            () = over(&shared.hub, stop) => return Ok(()),
        };
        match connected {
            Ok((transport, carrier)) => {
                let carrier_config = CarrierConfig {
                    carrier,
                    delivery: Delivery {
                        rate: Some(shared.hub.rate()),
                        ..Delivery::default()
                    },
                };
                let (session, keygen) =
                    shared
                        .offer
                        .initiate(Role::Publisher, ticket, carrier_config, &shared.observation)?;
                let pending = PendingSession {
                    transport,
                    session,
                    delay_rate: carrier_config.delay_rate(),
                    remote: format!("{}:{}", ticket.host, ticket.port),
                    timer: HandshakeTimer::begin("initiator", Some(keygen)),
                };
                let began = Instant::now();
                let departure = serve_viewer(Arc::clone(shared), pending, stop.clone()).await;
                if let Some(failure) = refusal(ticket, &departure, established) {
                    return Err(failure);
                }
                // Once a session stood, a handshake that fails may be somebody else's doing.
                established |= departure.stood;
                if departure.stood && began.elapsed() > STABLE {
                    retry = Retry::default();
                }
            }
            Err(failure) => tracing::warn!("{failure}"),
        }
        tokio::select! {
            biased;
            () = over(&shared.hub, stop) => return Ok(()),
            () = retry.wait() => {}
        }
    }
}

/// Wait until the source has ended or the program is to stop.
async fn over(hub: &Hub, stop: &watch::Receiver<bool>) {
    let mut stop = stop.clone();
    tokio::select! {
        _ = turned_on(&mut stop) => {}
        _ = source_end(hub) => {}
    }
}

/// Why it makes no sense to connect to that viewer again, if it makes none.
fn refusal(ticket: &Ticket, departure: &Departure, established: bool) -> Option<Failure> {
    let at = format!("the viewer at {}:{}", ticket.host, ticket.port);
    match (&departure.ended, departure.reason) {
        (_, Some(CloseReason::NotAuthorised)) => Some(Failure::new(
            FailureKind::Refused,
            format!("{at} does not let us in"),
            "ask it for a ticket with an invite, or to allow your peer id",
        )),
        (Ended::Session(SessionError::Handshake(error)), _) if !established => Some(Failure::new(
            FailureKind::Refused,
            format!("{at} cannot be used: {error}"),
            "check the ticket with whoever gave it",
        )),
        _ => None,
    }
}
