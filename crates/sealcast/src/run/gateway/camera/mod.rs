//! The camera gateway: RTSP client towards cameras, publisher of sealed sessions.

mod cameras;
mod connect;
mod control;
mod metric_batch;
mod registry;
mod session;
mod upstream;

pub use cameras::{CameraAt, Cameras};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use sealcast_proto::keys::Invite;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::Delivery;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use control::check_selection;

use self::registry::{Changes, Registry};
use crate::failure::Result;
use crate::run::accept::{Acceptor, PendingSession};
use crate::run::control::{Controlled, commands};
use crate::run::retry::turned_on;
use crate::run::{Admission, ControlSocket, Observation, Offer, RuntimeSettings};
use crate::transport::Listener;

/// The first rate of a session, bit/s: cameras send when they send, and are held back only where the path is known to
/// carry less.
const FIRST_RATE: u64 = 200_000_000;
/// And the greatest it grows to.
const MOST_RATE: u64 = 1_000_000_000;
/// How long sessions and cameras may take to end when the gateway stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// What a camera gateway needs.
pub struct CameraGatewayOptions {
    /// The cameras.
    pub cameras: Cameras,
    /// Identity, suites, mechanisms.
    pub offer: Offer,
    /// The invite of the ticket, if there is one.
    pub invite: Option<Invite>,
    /// Which viewer gateways are let in.
    pub admission: Admission,
    /// Most viewer gateways at once.
    pub max_viewers: usize,
    /// Where they connect to.
    pub listener: Listener,
    /// How media is delivered where it may be lost.
    pub delivery: Delivery,
    /// What is encrypted, at first and later; one that [`check_selection`] accepts.
    pub settings: RuntimeSettings,
    /// Where commands come in.
    pub control: Option<ControlSocket>,
    /// What takes the place of cameras and admission while the gateway runs.
    pub renewals: mpsc::Receiver<Renewal>,
}

/// Cameras and lists that were read again.
pub struct Renewal {
    /// The cameras.
    pub cameras: Cameras,
    /// Which viewer gateways are let in. The session of one that is not any more ends.
    pub admission: Admission,
}

/// What the sessions share.
struct Shared {
    registry: watch::Sender<Registry>,
    observation: Arc<Observation>,
    admission: Admission,
    max_viewers: usize,
    viewers: AtomicUsize,
    next_id: AtomicU64,
    settings: RuntimeSettings,
}

impl Shared {
    /// Serve these cameras from now on. Sessions leave those that are gone, whose tasks then end.
    fn serve_cameras(&self, cameras: Cameras, upstreams: &mut JoinSet<()>) -> Changes {
        while upstreams.try_join_next().is_some() {}
        let (registry, changes) = self.registry.borrow().renewed(cameras, |target, requests| {
            upstreams.spawn(upstream::keep(target, requests, Arc::clone(&self.observation)));
        });
        self.registry.send_replace(registry);
        changes
    }

    /// A viewer gateway has come, or gone.
    fn count_viewer(&self, came: bool) -> usize {
        let viewers = if came {
            self.viewers.fetch_add(1, Ordering::Relaxed) + 1
        } else {
            self.viewers.fetch_sub(1, Ordering::Relaxed) - 1
        };
        self.observation.metrics.set_viewers(viewers);
        viewers
    }
}

/// Serve cameras to viewer gateways until `stop` turns true.
///
/// # Errors
/// The system gives no random bytes.
pub async fn camera_gateway(
    options: CameraGatewayOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    options.settings.begin(&observation);
    let mut upstreams = JoinSet::new();
    let shared = Arc::new(Shared {
        registry: watch::Sender::new(Registry::default()),
        observation: Arc::clone(&observation),
        admission: options.admission,
        max_viewers: options.max_viewers,
        viewers: AtomicUsize::new(0),
        next_id: AtomicU64::new(0),
        settings: options.settings,
    });
    let end: Arc<dyn Controlled> = Arc::<Shared>::clone(&shared);
    shared.serve_cameras(options.cameras, &mut upstreams);
    let mut renewals = options.renewals;
    let renew = async {
        while let Some(renewal) = renewals.recv().await {
            shared.admission.renew(renewal.admission);
            shared.serve_cameras(renewal.cameras, &mut upstreams).log();
        }
        std::future::pending().await
    };
    let door = Acceptor {
        offer: &options.offer,
        invite: options.invite.as_ref(),
        delivery: Delivery {
            rate: options.delivery.rate.map(|rate| RateConfig {
                start: FIRST_RATE,
                max: MOST_RATE,
                unsteered: true,
                ..rate
            }),
            ..options.delivery
        },
        clock: observation.clock,
        max_viewers: options.max_viewers,
    };
    let (sessions_stop, sessions_stopped) = watch::channel(false);
    let mut sessions = JoinSet::new();
    let serve = |pending: PendingSession| session::serve(Arc::clone(&shared), pending, sessions_stopped.clone());
    let outcome = tokio::select! {
        outcome = door.accept(options.listener, &mut sessions, serve) => outcome,
        never = commands(options.control, end) => match never {},
        outcome = renew => outcome,
        _ = turned_on(&mut stop) => Ok(()),
    };
    // Nobody is left to hear it if all sessions have ended.
    let _ = sessions_stop.send(true);
    // The cameras go when nobody can ask for them any more.
    drop(shared);
    let ended = async {
        while sessions.join_next().await.is_some() {}
        while upstreams.join_next().await.is_some() {}
    };
    if tokio::time::timeout(STOP_PATIENCE, ended).await.is_err() {
        tracing::warn!("a session or a camera took too long to end and was cut off");
    }
    outcome
}
