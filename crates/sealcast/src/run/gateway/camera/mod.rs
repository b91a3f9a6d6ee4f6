//! The camera gateway: RTSP client towards cameras, publisher of sealed sessions.

mod control;
mod session;
mod upstream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use sealcast_proto::keys::Invite;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::rtsp::MAX_PATH;
use sealcast_proto::session::Delivery;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use control::check_selection;

use super::MAX_WISHES;
use super::desk::Wish;
use crate::failure::{Failure, FailureKind, Result};
use crate::run::accept::{Door, Guest};
use crate::run::control::{Controlled, commands};
use crate::run::publish::PASSED_THROUGH;
use crate::run::retry::turned_on;
use crate::run::{Admission, ControlSocket, Observation, Offer, Steering};
use crate::source::rtsp::RtspOptions;
use crate::transport::Listener;

/// How long sessions and cameras may take to end when the gateway stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// A camera, and the path by which players ask for it.
pub struct CameraAt {
    /// Without slashes around it; `None` for every path that is no other camera's.
    path: Option<String>,
    options: RtspOptions,
}

impl std::str::FromStr for CameraAt {
    type Err = Failure;

    /// Read `[PATH=]rtsp://[USER[:PASSWORD]@]HOST[:PORT]/…`.
    fn from_str(text: &str) -> Result<Self> {
        let (path, url) = match text.split_once('=') {
            Some((path, url)) if !path.contains(':') => (Some(path.trim_matches('/').to_owned()), url),
            _ => (None, text),
        };
        if path
            .as_ref()
            .is_some_and(|path| path.len() > MAX_PATH || path.chars().any(char::is_control))
        {
            let what = "the path of a camera is too long or has control characters";
            return Err(Failure::new(FailureKind::Usage, what, "write [PATH=]rtsp://…"));
        }
        let options = RtspOptions::parse(url)?;
        Ok(Self { path, options })
    }
}

/// What a camera gateway needs.
pub struct CameraGatewayOptions {
    /// The cameras; no two at one path.
    pub cameras: Vec<CameraAt>,
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
    pub steering: Steering,
    /// Where commands come in.
    pub control: Option<ControlSocket>,
}

/// A camera as its sessions know it.
struct Camera {
    path: Option<String>,
    wishes: mpsc::Sender<Wish>,
}

/// What the sessions share.
struct Shared {
    cameras: Vec<Arc<Camera>>,
    observation: Arc<Observation>,
    admission: Admission,
    max_viewers: usize,
    viewers: AtomicUsize,
    next_id: AtomicU64,
    steering: Steering,
}

impl Shared {
    /// The camera at a path.
    fn camera(&self, path: &str) -> Option<&Arc<Camera>> {
        let named = self.cameras.iter().find(|camera| camera.path.as_deref() == Some(path));
        named.or_else(|| self.cameras.iter().find(|camera| camera.path.is_none()))
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
/// Kind `Usage` for two cameras at one path, and that the system gives no random bytes.
pub async fn camera_gateway(
    options: CameraGatewayOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    options.steering.begin(&observation);
    let mut upstreams = JoinSet::new();
    let cameras = start_cameras(options.cameras, &observation, &mut upstreams)?;
    let shared = Arc::new(Shared {
        cameras,
        observation: Arc::clone(&observation),
        admission: options.admission,
        max_viewers: options.max_viewers,
        viewers: AtomicUsize::new(0),
        next_id: AtomicU64::new(0),
        steering: options.steering,
    });
    let end: Arc<dyn Controlled> = Arc::<Shared>::clone(&shared);
    let door = Door {
        offer: &options.offer,
        invite: options.invite.as_ref(),
        delivery: Delivery {
            rate: options.delivery.rate.map(|rate| RateConfig {
                start: PASSED_THROUGH.min(rate.max),
                ..rate
            }),
            ..options.delivery
        },
        clock: observation.clock,
        max_viewers: options.max_viewers,
    };
    let (sessions_stop, sessions_stopped) = watch::channel(false);
    let mut sessions = JoinSet::new();
    let serve = |guest: Guest| session::serve(Arc::clone(&shared), guest, sessions_stopped.clone());
    let outcome = tokio::select! {
        outcome = door.accept(options.listener, &mut sessions, serve) => outcome,
        never = commands(options.control, end) => match never {},
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

fn start_cameras(
    cameras: Vec<CameraAt>,
    observation: &Arc<Observation>,
    upstreams: &mut JoinSet<()>,
) -> Result<Vec<Arc<Camera>>> {
    let mut started: Vec<Arc<Camera>> = Vec::new();
    for CameraAt { path, options } in cameras {
        if started.iter().any(|other| other.path == path) {
            let path = path.as_deref().unwrap_or("every path");
            let what = format!("two cameras would be at {path}");
            return Err(Failure::new(
                FailureKind::Usage,
                what,
                "give each its own PATH=rtsp://…",
            ));
        }
        let (sender, wishes) = mpsc::channel(MAX_WISHES);
        upstreams.spawn(upstream::keep(options, wishes, Arc::clone(observation)));
        started.push(Arc::new(Camera { path, wishes: sender }));
    }
    Ok(started)
}
