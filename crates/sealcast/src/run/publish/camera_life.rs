//! The life of a publisher's camera, from the opening of its source until it has ended or is taken out of service.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

use sealcast_proto::keys::PeerId;
use sealcast_proto::rate::RateConfig;
use sealcast_proto::wire::CameraName;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::camera::{Camera, WireTap};
use crate::failure::{Failure, Result};
use crate::keys::words::words_of;
use crate::rtsp::{PacketTap, RtspOptions};
use crate::run::data::PublishedData;
use crate::run::gateway::camera::packets::{PacketCamera, PacketOrigin, PacketRequests};
use crate::run::group::{Group, GroupOptions, drive};
use crate::run::media::away::{Nudge, SourceEnd};
use crate::run::media::hub::Hub;
use crate::run::media::queue::QueueLimits;
use crate::run::media::shape::FrameProof;
use crate::run::media::source_feed::Reopen;
use crate::run::media::source_thread::{self, Tap};
use crate::run::relay::{Arrivals, Outlet, RelayUrl, feed};
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::retry::turned_on;
use crate::run::session::runtime_settings::RuntimeSettings;
use crate::run::session::ways::Ways;
use crate::source::Source;

/// The start rate for a source whose rate cannot be changed, bit/s: above the rate of most cameras.
pub(crate) const PASSED_THROUGH: u64 = 30_000_000;
/// Time limit for telling the relays that the stream is over.
const RELAY_PATIENCE: Duration = Duration::from_secs(2);

/// Time limit for the end of an attempt to open a source that is away.
const AWAY_PATIENCE: Duration = Duration::from_millis(500);

/// The settings of a camera, and its source.
pub struct CameraOptions {
    /// Origin of its frames, or of its packets.
    pub media: CameraMedia,
    /// Bounds of the bit rate. They apply where the path is measured and the source can change its rate.
    pub rate: RateConfig,
    /// False to leave out the sound of the source.
    pub sound: bool,
    /// Settings that can change at run time, such as the parts to encrypt.
    pub settings: RuntimeSettings,
    /// Seals each frame once for all viewers who are content with it.
    pub group: Option<GroupOptions>,
    /// Relays that are given what is sealed for the group, at most [`MAX_RELAYS`](crate::run::relay::MAX_RELAYS).
    pub relays: Vec<RelayUrl>,
    /// True if it is one of several: the log then says which one it is about.
    pub among_others: bool,
    /// The URL of its source, without secrets, if the log is to say that it is published.
    pub shown: Option<String>,
}

/// Origin of a camera's media.
pub enum CameraMedia {
    /// Frames, for viewers.
    Frames {
        /// The source of frames, or why it is not there yet: then `reopen` must open it.
        source: Result<Box<dyn Source>>,
        /// Opens the source again when it is away, if it should be waited for.
        reopen: Option<Reopen>,
        /// The connection that its packets come over, which gateways share, or why there are none for them.
        packets: std::result::Result<Arc<PacketTap>, &'static str>,
    },
    /// Packets of this camera, for gateways alone: it is connected to while they need it.
    Packets(Arc<RtspOptions>),
}

/// The source of a camera, what opens it again, and its packets.
type MediaParts = (Option<Result<Box<dyn Source>>>, Option<Reopen>, PacketsOf);

/// The packets of a camera, or why it has none.
type PacketsOf<T = PacketOrigin> = std::result::Result<T, &'static str>;

impl CameraMedia {
    fn parts(self) -> MediaParts {
        match self {
            Self::Frames {
                source,
                reopen,
                packets,
            } => (Some(source), reopen, packets.map(PacketOrigin::Beside)),
            Self::Packets(target) => (None, None, Ok(PacketOrigin::OnDemand(target))),
        }
    }
}

/// A camera's packets at a path, and the requests for them.
fn packets_at(path: Option<&str>, packets: PacketsOf) -> (PacketsOf<Arc<PacketCamera>>, Option<PacketRequests>) {
    match packets.map(|origin| PacketCamera::at(path, origin)) {
        Ok((packets, requests)) => (Ok(Arc::new(packets)), Some(requests)),
        Err(why) => (Err(why), None),
    }
}

/// The things that all cameras of a publisher share.
pub(crate) struct InCommon {
    pub(crate) observation: Arc<Observation>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) places: Arc<AdmittedPlaces>,
    pub(crate) offer: Offer,
    /// Limits of each viewer's queue.
    pub(crate) queue: QueueLimits,
    /// On byte streams: age from which a frame gives way to a newer group of pictures.
    pub(crate) stream_budget: Duration,
    /// The ways here, of which viewers are told, if they are.
    pub(crate) ways: Option<Arc<Ways>>,
    /// Data channels beside the picture.
    pub(crate) data: Option<Arc<PublishedData>>,
}

/// Observers of the frames of a camera, and of the sealed records of each, for the demo.
#[derive(Default)]
pub(crate) struct Taps {
    pub(crate) frames: Option<Tap>,
    pub(crate) wire: Option<WireTap>,
}

/// A camera whose source is running.
pub(crate) struct CameraLife {
    pub(crate) camera: Arc<Camera>,
    /// Ends the pause before another attempt to open the source.
    pub(crate) nudge: Option<Arc<Nudge>>,
    /// The thread of its source, if it has frames.
    source: Option<JoinHandle<()>>,
    /// The requests of gateways.
    packets: Option<PacketRequests>,
    outlets: Vec<Outlet>,
}

impl CameraLife {
    /// Starts a camera.
    ///
    /// # Errors
    /// No numbers for the epochs of its group can be reserved, or the system gives no thread or no random bytes.
    pub(crate) fn start(
        (name, path): (CameraName, Option<&str>),
        options: CameraOptions,
        common: &InCommon,
        taps: Taps,
    ) -> Result<Self> {
        let (mut source, reopen, packets) = options.media.parts();
        let packets_alone = source.is_none();
        let observation = match packets_alone {
            // Its sessions are of all cameras.
            true => Arc::clone(&common.observation),
            false => common.observation.of_camera(name.as_str()),
        };
        let opened = source.as_mut().and_then(|source| source.as_deref_mut().ok());
        let rate = first_rate(opened, options.rate);
        let span = match options.among_others {
            true => tracing::info_span!("camera", name = name.as_str()),
            false => tracing::Span::none(),
        };
        let hub = Hub::new(common.queue, observation.metrics.clone());
        let hub = Arc::new(hub.with_rate(rate).within(span));
        let offer = &common.offer;
        let proof = options.group.as_ref().map_or(FrameProof::None, GroupOptions::proof);
        let group = options
            .group
            .map(|group| Group::new(group, name, offer, common.queue, &observation));
        let group = group.transpose()?;
        let to_relays = |group: &Group| options.relays.into_iter().map(|relay| group.relay(relay)).collect();
        let outlets = group.as_ref().map(to_relays).unwrap_or_default();
        let camera = options.among_others.then(|| name.as_str());
        if let (Some(shown), Some(source)) = (&options.shown, &source) {
            announce(camera, shown, source.as_deref().ok(), &offer.identity.peer_id());
        }
        let nudge = reopen.as_ref().map(Reopen::nudge);
        let (packets, requests) = packets_at(path, packets);
        let source = source.map(|source| {
            options.settings.begin(&observation);
            source_thread::start(
                (source, reopen, options.sound),
                Arc::clone(&hub),
                observation.metrics.clone(),
                taps.frames,
                (offer.shape, proof),
                options.settings.selected(),
            )
        });
        let camera = Camera {
            name,
            hub,
            observation,
            admission: Arc::clone(&common.admission),
            places: Arc::clone(&common.places),
            wire_tap: taps.wire,
            offer: common.offer.clone(),
            settings: options.settings,
            stream_budget: common.stream_budget,
            leaves: AtomicBool::new(false),
            group: group.map(Arc::new),
            packets,
            packets_alone,
        };
        Ok(Self {
            camera: Arc::new(camera),
            nudge,
            source: source.transpose()?,
            packets: requests,
            outlets,
        })
    }

    /// The camera and the requests for its packets, which a script answers.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn scripted(self) -> (Arc<Camera>, Option<PacketRequests>) {
        (self.camera, self.packets)
    }

    /// Seals for the camera's group and its relays until its source has ended, it fails, or `stop` turns true. Sessions
    /// that viewers open through its relays are `arrivals`.
    ///
    /// # Errors
    /// The source failed, nothing can be sealed for the group any more, or a relay client cannot be started at all.
    pub(crate) async fn live(self, arrivals: Arrivals, mut stop: watch::Receiver<bool>) -> Result<()> {
        let Self {
            camera,
            source,
            packets,
            outlets,
            ..
        } = self;
        let mut fed = feed_all(&camera, outlets, &arrivals);
        let packets = packets.map(|requests| {
            let observation = Arc::clone(&camera.observation);
            tokio::spawn(requests.serve(observation, stop.clone()))
        });
        let outcome = tokio::select! {
            failed = seal_for_group(&camera) => Err(failed),
            failed = cannot_feed(&mut fed) => Err(failed),
            _ = turned_on(&mut stop) => Ok(()),
            end = source_end(&camera) => match end {
                SourceEnd::Complete => Ok(()),
                SourceEnd::Failed(failure) => Err(failure),
            },
        };
        finish_relays(&camera, fed).await;
        camera.hub.stop();
        if let Some(source) = source {
            end_of(source, camera.hub.standing.now().away.is_some()).await;
        }
        if let Some(packets) = packets {
            // It ends at the same signal. If it panicked, that was told.
            drop(packets.await);
        }
        outcome
    }
}

/// Says in the log what is published, as far as the source is there: of which camera, if there are several.
fn announce(camera: Option<&str>, source: &str, opened: Option<&(dyn Source + 'static)>, publisher: &PeerId) {
    let fingerprint = words_of(publisher);
    match opened.map(Source::info) {
        Some(info) => {
            let (codec, size) = (info.codec.name(), format!("{}x{}", info.width, info.height));
            tracing::info!(camera, source, codec, size, fingerprint, "publishing");
        }
        None => tracing::info!(camera, source, fingerprint, "publishing once the source is there"),
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
pub(crate) async fn source_end(camera: &Camera) -> SourceEnd {
    let over = || camera.group.as_ref().is_none_or(|group| group.is_over());
    camera.hub.ended(over).await
}

/// Seal for the group, if there is one, as long as that goes well.
async fn seal_for_group(camera: &Arc<Camera>) -> Failure {
    match &camera.group {
        Some(group) => match drive(Arc::clone(camera), Arc::clone(group)).await {
            Ok(never) => match never {},
            Err(failure) => failure,
        },
        None => std::future::pending().await,
    }
}

/// Give each relay what is sealed for the group, in a task of its own.
fn feed_all(camera: &Arc<Camera>, outlets: Vec<Outlet>, arrivals: &Arrivals) -> JoinSet<Result<()>> {
    let mut fed = JoinSet::new();
    if let Some(group) = &camera.group {
        for outlet in outlets {
            fed.spawn(feed(outlet, Arc::clone(camera), Arc::clone(group), arrivals.clone()));
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
async fn finish_relays(camera: &Camera, mut fed: JoinSet<Result<()>>) {
    if let Some(group) = &camera.group {
        group.finish();
    }
    let told = async { while fed.join_next().await.is_some() {} };
    if tokio::time::timeout(RELAY_PATIENCE, told).await.is_err() {
        tracing::warn!("a relay was not told that the stream is over: viewers there wait for a while");
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
