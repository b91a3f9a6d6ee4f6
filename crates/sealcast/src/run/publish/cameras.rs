//! The cameras of a publisher: which there are, who sees which, and what becomes of them when they are read again.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use sealcast_proto::keys::PeerId;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::wire::CameraName;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use super::camera::Camera;
use super::camera_life::{CameraLife, CameraOptions, InCommon, Taps};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::run::control::{CameraStatus, Controlled, Sealing};
use crate::run::media::away::Nudge;
#[cfg(test)]
use crate::run::media::queue::QueueLimits;
use crate::run::relay::Arrivals;
use crate::run::session::admission::Admission;
use crate::run::session::observe::Observation;
use crate::run::session::registry::{Configured, Registry, Renewal, Snapshot};
#[cfg(test)]
use crate::transport::relayed_sessions;

/// Time limit for a camera to end that is started again, or is taken out of service.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// A camera that is being opened.
pub type OpeningCamera = Pin<Box<dyn Future<Output = Result<CameraOptions>> + Send>>;

/// Source of a camera's pictures, and how they are sealed.
pub struct CameraDefinition {
    /// All that is said of it: if that changes, it counts as a different camera. It may have a password in it.
    pub said: Zeroizing<String>,
    /// Opens its source, or says how it is waited for.
    pub open: Box<dyn Fn() -> OpeningCamera + Send + Sync>,
}

impl PartialEq for CameraDefinition {
    fn eq(&self, other: &Self) -> bool {
        self.said == other.said
    }
}

/// A camera and its name, 1 to 64 letters, digits and `.-_`.
pub type PublishedCamera = Configured<CameraDefinition>;

/// A publisher's only camera, which cannot be opened again.
pub fn only_camera(name: &str, options: CameraOptions) -> Vec<(PublishedCamera, CameraOptions)> {
    let again = || -> OpeningCamera {
        let failure = Failure::new(
            FailureKind::Internal,
            "this camera is opened once",
            "please report this",
        );
        Box::pin(std::future::ready(Err(failure)))
    };
    let camera = Configured {
        name: Some(name.to_owned()),
        definition: CameraDefinition {
            said: Zeroizing::default(),
            open: Box::new(again),
        },
        allow: None,
        control: AllowList::default(),
    };
    vec![(camera, options)]
}

/// The cameras as one viewer's session sees them.
pub(crate) type SeenCameras = Snapshot<CameraDefinition, Camera>;

/// The end of a camera's life, with what it was.
pub(crate) struct Ended {
    camera: Arc<Camera>,
    outcome: Result<()>,
}

/// The means by which the tasks of a camera are stopped and waited for.
struct Living {
    camera: Arc<Camera>,
    nudge: Option<Arc<Nudge>>,
    stop: watch::Sender<bool>,
    life: JoinHandle<()>,
}

/// The cameras of a publisher.
pub(crate) struct PublishedCameras {
    pub(crate) common: InCommon,
    registry: watch::Sender<Registry<CameraDefinition, Camera>>,
    arrivals: Arrivals,
    living: Mutex<Vec<Living>>,
    ends: mpsc::UnboundedSender<Ended>,
}

impl PublishedCameras {
    /// A publisher without cameras. Their ends are sent to `ends`.
    pub(crate) fn new(common: InCommon, arrivals: Arrivals, ends: mpsc::UnboundedSender<Ended>) -> Self {
        Self {
            common,
            registry: watch::Sender::new(Registry::default()),
            arrivals,
            living: Mutex::default(),
            ends,
        }
    }

    /// The publisher of this camera alone, which does not end.
    #[cfg(test)]
    pub(crate) fn of(camera: &Arc<Camera>) -> Arc<Self> {
        let common = InCommon {
            observation: Arc::clone(&camera.observation),
            admission: Arc::clone(&camera.admission),
            places: Arc::clone(&camera.places),
            offer: camera.offer.clone(),
            queue: QueueLimits::default(),
            stream_budget: camera.stream_budget,
            ways: None,
            data: None,
        };
        let cameras = Self::new(common, relayed_sessions().0, mpsc::unbounded_channel().0);
        let configured = Configured {
            name: Some(camera.name.as_str().to_owned()),
            definition: CameraDefinition {
                said: Zeroizing::default(),
                open: Box::new(|| unreachable!("it is open")),
            },
            allow: None,
            control: AllowList::default(),
        };
        let (registry, _) = Registry::default().renewed(vec![configured], |_, _| Some(Arc::clone(camera)));
        cameras.registry.send_replace(registry);
        Arc::new(cameras)
    }

    fn living(&self) -> MutexGuard<'_, Vec<Living>> {
        // Each statement leaves the list whole.
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the cameras with which the publisher begins, which are open.
    ///
    /// # Errors
    /// One cannot be started.
    pub(crate) fn begin(&self, cameras: Vec<(PublishedCamera, CameraOptions)>, taps: Taps) -> Result<()> {
        let (configured, opened): (Vec<_>, Vec<_>) = cameras.into_iter().unzip();
        let (mut opened, mut taps) = (opened.into_iter(), Some(taps));
        let mut failed = None;
        let (registry, _) = self.registry.borrow().renewed(configured, |name, _| {
            let started = self.start(name, opened.next()?, taps.take().unwrap_or_default());
            started.map_err(|failure| failed = Some(failure)).ok()
        });
        self.registry.send_replace(registry);
        failed.map_or(Ok(()), Err)
    }

    fn start(&self, name: Option<&str>, options: CameraOptions, taps: Taps) -> Result<Arc<Camera>> {
        let name = name.and_then(CameraName::new).unwrap_or_default();
        let life = CameraLife::start(name, options, &self.common, taps)?;
        let (camera, nudge) = (Arc::clone(&life.camera), life.nudge.clone());
        let (stop, stopped) = watch::channel(false);
        let (ends, arrivals, ending) = (self.ends.clone(), self.arrivals.clone(), Arc::clone(&camera));
        let life = tokio::spawn(async move {
            let outcome = life.live(arrivals, stopped).await;
            // Sending fails if the publisher has ended.
            let _ = ends.send(Ended {
                camera: ending,
                outcome,
            });
        });
        self.living().push(Living {
            camera: Arc::clone(&camera),
            nudge,
            stop,
            life,
        });
        Ok(camera)
    }

    /// Serve these cameras from now on. Sessions leave those that are gone, or were changed; others go on.
    pub(crate) async fn renew(&self, renewal: Renewal<CameraDefinition>) {
        self.common.admission.renew(renewal.by_hand);
        if let Some(data) = &self.common.data {
            data.renew(renewal.may_control);
        }
        // A camera that is waited for may be right now.
        self.living()
            .iter()
            .filter_map(|living| living.nudge.as_ref())
            .for_each(|nudge| nudge.now());
        let known = |camera: &PublishedCamera| {
            let registry = self.registry.borrow();
            registry.has(camera.name.as_deref(), &camera.definition)
        };
        // A device can be opened again once who had it has closed it.
        let stays: Vec<&str> = renewal
            .cameras
            .iter()
            .filter(|camera| known(camera))
            .filter_map(name_of)
            .collect();
        let leaves = |living: &Living| !stays.contains(&living.camera.name.as_str());
        let leaving: Vec<Living> = self.living().extract_if(.., |living| leaves(living)).collect();
        for living in &leaving {
            living.camera.leaves.store(true, Ordering::Relaxed);
        }
        let left: Vec<Arc<Observation>> = leaving
            .iter()
            .map(|living| Arc::clone(&living.camera.observation))
            .collect();
        join_all(leaving.into_iter().map(end)).await;
        // One that is started again is shown again.
        left.iter().for_each(|observation| observation.metrics.retire());
        let new = renewal.cameras.iter().filter(|camera| !known(camera));
        let mut opened = join_all(new.map(|camera| (camera.definition.open)())).await.into_iter();
        let (registry, changes) = self.registry.borrow().renewed(renewal.cameras, |name, _| {
            let started = opened
                .next()?
                .and_then(|options| self.start(name, options, Taps::default()));
            let camera = name.unwrap_or_default();
            started
                .inspect_err(|failure| tracing::error!(camera, "{failure}; the other cameras go on"))
                .ok()
        });
        if registry.all().next().is_none() {
            tracing::error!(
                "no camera could be started: what is wrong is told above; correct it and send SIGHUP again"
            );
            return;
        }
        self.registry.send_replace(registry);
        changes.log();
    }

    /// Ends all cameras, once their viewers have got what there was.
    pub(crate) async fn end_all(&self) {
        let all: Vec<Living> = self.living().drain(..).collect();
        join_all(all.into_iter().map(end)).await;
    }

    /// Notes that a camera has ended. Returns the outcome of the publisher if nothing is left to publish.
    pub(crate) fn note_ended(&self, ended: Ended, before: &mut Vec<Result<()>>) -> Option<Result<()>> {
        let registry = self.registry.borrow();
        if ended.camera.leaves() {
            return None;
        }
        if registry.all().count() > 1 {
            let camera = ended.camera.name.as_str();
            match &ended.outcome {
                Ok(()) => tracing::info!(camera, "the source of this camera has ended"),
                Err(failure) => tracing::error!(camera, "{failure}; the other cameras go on"),
            }
        }
        before.push(ended.outcome);
        let over = registry
            .all()
            .all(|(_, camera)| camera.hub.stopping() && !camera.leaves());
        over.then(|| before.drain(..).find(Result::is_err).unwrap_or(Ok(())))
    }

    /// The first of the cameras; there is one from the beginning to the end.
    pub(crate) fn first(&self) -> Arc<Camera> {
        let registry = self.registry.borrow();
        let (_, camera) = registry.all().next().expect("a publisher is never without a camera");
        Arc::clone(camera)
    }

    /// The cameras as a session sees them.
    pub(crate) fn seen(&self) -> SeenCameras {
        Snapshot::new(self.registry.subscribe())
    }

    /// True if one of the cameras seals for a group.
    pub(crate) fn seal_for_groups(&self) -> bool {
        self.registry.borrow().all().any(|(_, camera)| camera.group.is_some())
    }

    /// Bounds of the bit rate of a session that is not of a camera yet: those of a camera whose rate cannot be changed,
    /// if there is one, since starting below its rate would lose pictures.
    pub(crate) fn rate(&self) -> RateConfig {
        let registry = self.registry.borrow();
        let rates: Vec<RateConfig> = registry.all().map(|(_, camera)| camera.hub.rate()).collect();
        let unsteered = rates.iter().find(|rate| rate.unsteered);
        unsteered.or(rates.first()).copied().unwrap_or_default()
    }
}

fn name_of(camera: &PublishedCamera) -> Option<&str> {
    camera.name.as_deref()
}

/// Ends a camera and waits for it, not for ever: an attempt to open its source may last.
async fn end(living: Living) {
    // It fails if it has ended by itself.
    let _ = living.stop.send(true);
    // Nobody waits for it any more.
    living.camera.observation.metrics.camera_off(false);
    if tokio::time::timeout(END_PATIENCE, living.life).await.is_err() {
        tracing::warn!(camera = living.camera.name.as_str(), "this camera takes long to end");
    }
}

impl Controlled for PublishedCameras {
    fn each(
        &self,
        name: Option<&str>,
        act: &mut dyn FnMut(&dyn Sealing) -> Result<(), String>,
    ) -> Result<usize, String> {
        let registry = self.registry.borrow();
        let mut count = 0;
        let several = registry.all().count() > 1;
        for (_, camera) in registry.all().filter(|(of, _)| name.is_none() || *of == name) {
            act(&**camera).map_err(|why| match several {
                true => format!("{}: {why}", camera.name.as_str()),
                false => why,
            })?;
            count += 1;
        }
        Ok(count)
    }

    fn observation(&self) -> &Observation {
        &self.common.observation
    }

    fn admission(&self) -> &Admission {
        &self.common.admission
    }

    fn kind(&self) -> &'static str {
        "publisher"
    }

    fn cameras_for(&self, peer: &PeerId) -> Option<Vec<String>> {
        self.registry.borrow().names_for(&self.common.admission.seer_of(peer))
    }

    fn cameras(&self) -> Vec<CameraStatus> {
        self.registry
            .borrow()
            .all()
            .map(|(_, camera)| camera.status())
            .collect()
    }

    fn lists_changed(&self) {
        self.registry.send_modify(|_| {});
    }
}
