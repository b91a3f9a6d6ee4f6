//! The camera gateway: RTSP client towards cameras, publisher of sealed sessions.

mod asked;
mod cameras;
mod command;
mod connect;
mod control;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod report_rate;
mod session;
mod shared;
mod standing;
mod upstream;

pub use cameras::CameraAt;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sealcast_proto::keys::Role;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::Delivery;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use control::check_selection;

use self::shared::CameraGateway;
use crate::failure::Result;
use crate::rtsp::RtspOptions;
use crate::run::control::socket::ControlSocket;
use crate::run::control::{Controlled, commands};
use crate::run::session::accept::{Acceptor, PendingSession};
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::registry::{Registry, Renewal};
use crate::run::session::retry::turned_on;
use crate::run::session::runtime_settings::RuntimeSettings;
use crate::run::session::ways::Ways;
use crate::transport::Listener;

/// Start rate of a session, bit/s. A camera's rate cannot be steered, so its packets are slowed down only when the
/// path is known to carry less.
const FIRST_RATE: u64 = 200_000_000;
/// Maximum rate of a session, bit/s.
const MOST_RATE: u64 = 1_000_000_000;
/// Time limit for sessions and cameras to end when the gateway stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// The settings of a camera gateway.
pub struct CameraGatewayOptions {
    /// The cameras.
    pub cameras: Vec<CameraAt>,
    /// Identity, suites, mechanisms.
    pub offer: Offer,
    /// Decides which viewer gateways are admitted.
    pub admission: Arc<Admission>,
    /// Maximum number of viewer gateways at once.
    pub max_viewers: usize,
    /// The socket that they connect to.
    pub listener: Listener,
    /// Delivery of media on carriers that may lose it.
    pub delivery: Delivery,
    /// Settings that can change at run time. [`check_selection`] must accept the selection.
    pub settings: RuntimeSettings,
    /// The socket for commands.
    pub control: Option<ControlSocket>,
    /// The ways here, of which viewer gateways are told.
    pub ways: Arc<Ways>,
    /// New cameras and lists for the running gateway.
    pub renewals: mpsc::Receiver<Renewal<RtspOptions>>,
}

/// Serve cameras to viewer gateways until `stop` turns true.
///
/// # Errors
/// The system provides no random bytes.
pub async fn camera_gateway(
    options: CameraGatewayOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    options.settings.begin(&observation);
    let mut upstreams = JoinSet::new();
    let shared = Arc::new(CameraGateway {
        registry: watch::Sender::new(Registry::default()),
        observation: Arc::clone(&observation),
        admission: options.admission,
        places: AdmittedPlaces::new(options.max_viewers),
        next_id: AtomicU64::new(0),
        settings: options.settings,
    });
    let end: Arc<dyn Controlled> = Arc::<CameraGateway>::clone(&shared);
    shared.serve_cameras(options.cameras, &mut upstreams);
    let mut renewals = options.renewals;
    let renew = async {
        while let Some(renewal) = renewals.recv().await {
            shared.admission.renew(renewal.by_hand);
            shared.serve_cameras(renewal.cameras, &mut upstreams).log();
        }
        std::future::pending().await
    };
    let door = Acceptor {
        role: Role::Publisher,
        offer: &options.offer,
        admission: &shared.admission,
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
        metrics: &observation.metrics,
        ways: Some(&options.ways),
    };
    let (sessions_stop, sessions_stopped) = watch::channel(false);
    let mut sessions = JoinSet::new();
    let serve = |pending: PendingSession| session::serve(Arc::clone(&shared), pending, sessions_stopped.clone());
    let outcome = tokio::select! {
        outcome = door.accept(vec![options.listener], &mut sessions, serve) => outcome,
        never = commands(options.control, end) => match never {},
        outcome = renew => outcome,
        _ = turned_on(&mut stop) => Ok(()),
    };
    // Sending fails if all sessions have already ended.
    let _ = sessions_stop.send(true);
    // The cameras' tasks end once nothing can send them requests.
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
