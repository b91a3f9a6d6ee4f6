//! The cameras of a publisher: which there are, who sees which, and what becomes of them when they are read again.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use sealcast_proto::keys::PeerId;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::CameraName;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use super::camera::Camera;
use super::camera_life::{CameraLife, CameraMedia, CameraOptions, InCommon, Taps};
use super::gateways::{CommandedGateways, GatewaySessions};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::rtsp::RtspOptions;
use crate::run::control::{CameraStatus, Controlled, Sealing};
#[cfg(feature = "fuzzing")]
use crate::run::gateway::camera::packets::PacketRequests;
use crate::run::gateway::{CameraAt, packet_rate};
use crate::run::media::away::Nudge;
#[cfg(test)]
use crate::run::media::queue::QueueLimits;
use crate::run::relay::Arrivals;
use crate::run::session::admission::Admission;
use crate::run::session::observe::Observation;
use crate::run::session::registry::{Configured, Registry, Renewal, Snapshot};
use crate::run::session::runtime_settings::RuntimeSettings;
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
    /// The camera whose packets alone are wanted, with its password.
    pub packets: Option<Arc<RtspOptions>>,
    /// Opens its source, or says how it is waited for.
    pub open: Box<dyn Fn() -> OpeningCamera + Send + Sync>,
}

impl PartialEq for CameraDefinition {
    fn eq(&self, other: &Self) -> bool {
        self.said == other.said && self.packets == other.packets
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
            packets: None,
            open: Box::new(again),
        },
        allow: None,
        control: AllowList::default(),
    };
    vec![(camera, options)]
}

/// A camera whose packets alone are published.
pub fn packets_of(camera: CameraAt) -> PublishedCamera {
    let target = Arc::new(camera.definition);
    let packets = Some(Arc::clone(&target));
    let open = move || -> OpeningCamera { Box::pin(std::future::ready(Ok(packet_options(&target)))) };
    Configured {
        name: camera.name,
        definition: CameraDefinition {
            said: Zeroizing::default(),
            packets,
            open: Box::new(open),
        },
        allow: camera.allow,
        control: camera.control,
    }
}

fn packet_options(target: &Arc<RtspOptions>) -> CameraOptions {
    CameraOptions {
        media: CameraMedia::Packets(Arc::clone(target)),
        rate: packet_rate(),
        sound: true,
        settings: RuntimeSettings::new(Selection::All),
        group: None,
        relays: Vec::new(),
        among_others: false,
        shown: None,
    }
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
    /// The name by which it is asked for.
    name: Option<String>,
    nudge: Option<Arc<Nudge>>,
    stop: watch::Sender<bool>,
    life: JoinHandle<()>,
}

/// The cameras of a publisher.
pub(crate) struct PublishedCameras {
    pub(crate) common: InCommon,
    pub(crate) gateways: GatewaySessions,
    registry: watch::Sender<Registry<CameraDefinition, Camera>>,
    arrivals: Arrivals,
    living: Mutex<Vec<Living>>,
    ends: mpsc::UnboundedSender<Ended>,
}

impl PublishedCameras {
    /// A publisher without cameras. Their ends are sent to `ends`.
    pub(crate) fn new(
        common: InCommon,
        gateways: GatewaySessions,
        arrivals: Arrivals,
        ends: mpsc::UnboundedSender<Ended>,
    ) -> Self {
        Self {
            common,
            gateways,
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
        let gateways = GatewaySessions::new(None);
        let cameras = Self::new(common, gateways, relayed_sessions().0, mpsc::unbounded_channel().0);
        let configured = Configured {
            name: Some(camera.name.as_str().to_owned()),
            definition: CameraDefinition {
                said: Zeroizing::default(),
                packets: None,
                open: Box::new(|| unreachable!("it is open")),
            },
            allow: None,
            control: AllowList::default(),
        };
        let (registry, _) = Registry::default().renewed(vec![configured], |_, _| Some(Arc::clone(camera)));
        cameras.registry.send_replace(registry);
        Arc::new(cameras)
    }

    /// Serve these cameras of packets alone from now on. Returns the requests for each that is new, and its path.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn script(&self, cameras: Vec<PublishedCamera>) -> Vec<(Option<String>, PacketRequests)> {
        let mut started = Vec::new();
        let (registry, _) = self.registry.borrow().renewed(cameras, |name, definition| {
            let options = packet_options(definition.packets.as_ref()?);
            let named = (CameraName::NONE, name);
            let life = CameraLife::start(named, options, &self.common, Taps::default()).ok()?;
            let (camera, requests) = life.scripted();
            started.push((name.map(str::to_owned), requests?));
            Some(camera)
        });
        self.registry.send_replace(registry);
        started
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
        let named = name.and_then(CameraName::new).unwrap_or_default();
        let life = CameraLife::start((named, name), options, &self.common, taps)?;
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
            name: name.map(str::to_owned),
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
        let stays: Vec<Option<&str>> = renewal
            .cameras
            .iter()
            .filter(|camera| known(camera))
            .map(|camera| camera.name.as_deref())
            .collect();
        let leaves = |living: &Living| !stays.contains(&living.name.as_deref());
        let leaving: Vec<Living> = self.living().extract_if(.., |living| leaves(living)).collect();
        for living in &leaving {
            living.camera.leaves.store(true, Ordering::Relaxed);
        }
        // Gateways leave it before it ends, so that it is told.
        self.lists_changed();
        let left: Vec<Arc<Observation>> = leaving
            .iter()
            .map(|living| Arc::clone(&living.camera.observation))
            .collect();
        join_all(leaving.into_iter().map(end)).await;
        // One that is started again is shown again.
        let own = |left: &&Arc<Observation>| !Arc::ptr_eq(left, &self.common.observation);
        left.iter()
            .filter(own)
            .for_each(|observation| observation.metrics.retire());
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

    /// A gateway came or left.
    pub(crate) fn count_gateways(&self) {
        if self.gateways.alone {
            let viewers = self.common.admission.attendance().count_of(None);
            self.common.observation.metrics.set_viewers(viewers);
        }
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
        if self.gateways.alone {
            let commanded = CommandedGateways {
                sessions: &self.gateways,
                observation: &self.common.observation,
            };
            return match name {
                Some(_) => Err("a gateway seals all its cameras alike: name none".to_owned()),
                None => act(&commanded).map(|()| 1),
            };
        }
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
        if self.gateways.alone {
            "camera gateway"
        } else {
            "publisher"
        }
    }

    fn rekeyed(&self) {
        if !self.gateways.alone {
            self.gateways.settings.rekey();
        }
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
