//! State that the sessions of a camera gateway share: the gateway, and each camera.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::cameras::CameraAt;
use super::standing::CameraStanding;
use super::upstream;
use crate::rtsp::RtspOptions;
use crate::run::gateway::MAX_REQUESTS;
use crate::run::gateway::request_mux::Request;
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::observe::Observation;
use crate::run::session::registry::{Changes, Registry};
use crate::run::session::runtime_settings::RuntimeSettings;

/// A camera as its sessions know it. Its task ends when the last reference is dropped.
pub(super) struct Camera {
    pub(super) path: Option<String>,
    pub(super) requests: mpsc::Sender<Request>,
    /// Frames sealed of it, for all sessions.
    pub(super) frames: AtomicU64,
    pub(super) standing: Arc<CameraStanding>,
}

/// State shared by the sessions.
pub(super) struct CameraGateway {
    pub(super) registry: watch::Sender<Registry<RtspOptions, Camera>>,
    pub(super) observation: Arc<Observation>,
    pub(super) admission: Arc<Admission>,
    /// The places of viewer gateways.
    pub(super) places: Arc<AdmittedPlaces>,
    pub(super) next_id: AtomicU64,
    pub(super) settings: RuntimeSettings,
}

impl Camera {
    /// The camera at a path, and the requests for it.
    pub(super) fn at(path: Option<&str>) -> (Self, mpsc::Receiver<Request>) {
        let (sender, requests) = mpsc::channel(MAX_REQUESTS);
        let camera = Self {
            path: path.map(str::to_owned),
            requests: sender,
            frames: AtomicU64::new(0),
            standing: Arc::default(),
        };
        (camera, requests)
    }

    /// A frame of it is sealed for a session.
    pub(super) fn count_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }
}

impl CameraGateway {
    /// Serve these cameras from now on. Sessions leave removed cameras, whose tasks then end.
    pub(super) fn serve_cameras(&self, cameras: Vec<CameraAt>, upstreams: &mut JoinSet<()>) -> Changes {
        while upstreams.try_join_next().is_some() {}
        let (registry, changes) = self.registry.borrow().renewed(cameras, |path, target| {
            let (camera, requests) = Camera::at(path);
            upstreams.spawn(upstream::keep(
                Arc::clone(target),
                requests,
                Arc::clone(&camera.standing),
                Arc::clone(&self.observation),
            ));
            Some(Arc::new(camera))
        });
        self.registry.send_replace(registry);
        changes
    }

    /// A viewer gateway came or left.
    pub(super) fn count_viewers(&self) {
        let viewers = self.admission.attendance().count_of(None);
        self.observation.metrics.set_viewers(viewers);
    }
}
