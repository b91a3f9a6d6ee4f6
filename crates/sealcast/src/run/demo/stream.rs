//! One run of the demo's stream: publisher and viewer, from their start until they are stopped or protected otherwise.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Identity, Invite, Role, Wish};
use sealcast_proto::rate::RateConfig;
use sealcast_proto::seal::Suite;
use sealcast_proto::session::{DEFAULT_BUDGET, Delivery, RekeyPolicy};
use sealcast_proto::unit::{Selection, Unit};
use sealcast_proto::wire::Ticket;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::eavesdropper::Eavesdropper;
use super::figures::{Figures, Network};
use super::options::DemoOptions;
use super::pictures::{CameraTap, PreviewSink, WirePicture};
use super::price::PriceMeter;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::keys::peers::{KnownPeers, MAX_HOURS, MAX_USES, Terms};
use crate::keys::seen_groups::SeenGroups;
use crate::media::StreamInfo;
use crate::meter::paired::PairedSummary;
use crate::run::data::DataOptions;
use crate::run::media::queue::QueueLimits;
use crate::run::media::shape::{FrameProof, Shape};
use crate::run::publish::camera::{Camera, WireTap};
use crate::run::publish::camera_life::{CameraMedia, CameraOptions, Taps};
use crate::run::publish::cameras::only_camera;
use crate::run::publish::{PublishOptions, Publisher, Viewers};
use crate::run::session::admission::Admission;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::runtime_settings::RuntimeSettings;
use crate::run::watch::{PublisherAt, WatchOptions, watch};
use crate::source::{self, Source};
use crate::transport::{Advertised, ListenUrl, Listener, WebListener};
use crate::web::demo::DemoFeeds;

/// Maximum of pages that watch at once. One that is loaded again is another one, until the first is given up.
const MAX_PAGES: usize = 8;
/// After so long without a frame for the viewer whose records are shown, those of another are.
const QUIET: Duration = Duration::from_secs(1);

/// Parts that stay the same in all runs, so that viewers come back: the identities of both ends, and who is admitted.
pub(super) struct CameraEnd {
    identity: Arc<Identity>,
    admission: Arc<Admission>,
    viewer: Arc<Identity>,
    /// The viewer's, which it proves in each run.
    invite: Invite,
}

/// Settings that can be otherwise in the next run.
#[derive(Clone)]
pub(super) struct Protection {
    /// Suites, best first.
    pub(super) suites: Vec<Suite>,
    pub(super) shape: Shape,
    pub(super) selection: Selection,
}

/// A run that goes on.
pub(super) struct Stream {
    figures: Figures,
    price: PriceMeter,
    camera: Arc<Camera>,
    publishing: JoinHandle<Result<()>>,
    watching: JoinHandle<Result<()>>,
    publisher_stop: watch::Sender<bool>,
    viewer_stop: watch::Sender<bool>,
}

impl CameraEnd {
    pub(super) fn new() -> Result<Self> {
        let admission = Admission::in_memory();
        let invite = admission.invite(terms(1))?;
        Ok(Self {
            identity: Arc::new(entropy::identity()?),
            admission: Arc::new(admission),
            viewer: Arc::new(entropy::identity()?),
            invite,
        })
    }

    /// The ticket of a page's visitors.
    pub(super) fn page_ticket(&self, listener: &WebListener) -> Result<Ticket> {
        let invite = self.admission.invite(terms(MAX_USES))?;
        let mut ticket = listener.way(&Advertised::default(), self.identity.peer_id())()?;
        ticket.invite = Some(invite);
        Ok(ticket)
    }

    /// The publisher's options with a listener on loopback, and the ticket of the demo's own viewer.
    fn publish_options(
        &self,
        offer: Offer,
        (source, selection): (Box<dyn Source>, Selection),
        browsers: Option<WebListener>,
        observation: &Observation,
    ) -> Result<(PublishOptions, Ticket)> {
        let url: ListenUrl = "tcp://127.0.0.1:0".parse()?;
        let listener = Listener::bind(&url, &self.identity, Role::Publisher, observation.metrics.clone())?;
        let mut ticket = url.ticket(
            &Advertised::default(),
            listener.local_address()?,
            self.identity.peer_id(),
        );
        ticket.invite = Some(self.invite.clone());
        let browsers = browsers.map(|browsers| Listener::Web(Box::new(browsers)));
        let options = PublishOptions {
            cameras: only_camera(
                "camera",
                CameraOptions {
                    media: CameraMedia::Frames {
                        source: Ok(source),
                        reopen: None,
                        packets: Err("a demo has no packets for a gateway"),
                    },
                    rate: RateConfig::default(),
                    sound: false,
                    settings: RuntimeSettings::new(selection),
                    group: None,
                    relays: Vec::new(),
                    among_others: false,
                    shown: None,
                },
            ),
            offer,
            packets_alone: None,
            admission: Arc::clone(&self.admission),
            max_viewers: 1 + MAX_PAGES,
            queue: QueueLimits::default(),
            viewers: Viewers::Listen {
                listeners: [listener].into_iter().chain(browsers).collect(),
                delivery: Delivery::default(),
                stream_budget: url.options.stream_latency,
            },
            control: None,
            renewals: mpsc::channel(1).1,
            ways: None,
            data: DataOptions::default(),
        };
        Ok((options, ticket))
    }
}

/// Viewers may come back as long as the demo runs.
fn terms(uses: u32) -> Terms {
    Terms::hours(uses, MAX_HOURS)
}

impl Stream {
    /// Starts a run.
    ///
    /// # Errors
    /// The source cannot be opened, or does not fit the shape.
    pub(super) async fn start(
        options: &DemoOptions,
        protection: Protection,
        camera: &CameraEnd,
        browsers: Option<WebListener>,
        (feeds, observation): (&Arc<DemoFeeds>, Arc<Observation>),
    ) -> Result<Self> {
        let source = open(&options.source, protection.shape).await?;
        let info = source.info();
        let price = PriceMeter::start(protection.suites[0])?;
        let offered = |identity| offer(options, &protection, identity);
        let (publish_options, ticket) = camera.publish_options(
            offered(Arc::clone(&camera.identity)),
            (source, protection.selection),
            browsers,
            &observation,
        )?;
        let mut camera_tap = CameraTap::new(Arc::clone(feeds), info.codec, price.frames())?;
        let (tap, eavesdropper) = wire_tap(feeds, &info)?;
        let publisher = Publisher::start(
            publish_options,
            Arc::clone(&observation),
            Taps {
                frames: Some(Box::new(move |frame| camera_tap.take(frame))),
                wire: Some(tap),
            },
        )?;
        let watch_options = WatchOptions {
            budget: DEFAULT_BUDGET,
            stream_budget: None,
            publisher: PublisherAt::Connect(ticket),
            offer: offered(Arc::clone(&camera.viewer)),
            sink: Box::new(PreviewSink::new(Arc::clone(feeds))),
            queue: QueueLimits::default(),
            sound: false,
            reconnect: true,
            without_session: false,
            seen: SeenGroups::nowhere(),
            relays: Vec::new(),
            data: Vec::new(),
        };
        let published = publisher.camera();
        let network = Network {
            camera: Arc::clone(&published),
            shape: protection.shape,
            eavesdropper,
        };
        let figures = Figures::new(&options.source, &info, Arc::clone(&published.hub), network);
        let (publisher_stop, publisher_stopped) = watch::channel(false);
        let (viewer_stop, viewer_stopped) = watch::channel(false);
        Ok(Self {
            figures,
            price,
            camera: published,
            publishing: tokio::spawn(publisher.run(publisher_stopped)),
            watching: tokio::spawn(watch(watch_options, observation, viewer_stopped)),
            publisher_stop,
            viewer_stop,
        })
    }

    /// Waits until the stream has ended by itself. Cancel-safe.
    pub(super) async fn ended(&mut self) -> Result<()> {
        (&mut self.watching)
            .await
            .unwrap_or_else(|error| Err(panicked("the viewer", &error)))
    }

    /// Stops both ends.
    pub(super) async fn stop(&mut self) -> Result<()> {
        if !self.watching.is_finished() {
            // The viewer first, so that it can close its session properly.
            let _ = self.viewer_stop.send(true);
            let _ = (&mut self.watching).await;
        }
        let _ = self.publisher_stop.send(true);
        (&mut self.publishing)
            .await
            .unwrap_or_else(|error| Err(panicked("the publisher", &error)))
    }

    /// The publisher's camera.
    pub(super) fn camera(&self) -> &Camera {
        &self.camera
    }

    pub(super) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The price of the protection so far.
    pub(super) fn price(&self) -> Option<PairedSummary> {
        self.price.summary()
    }
}

/// Opens the source on a thread that may block.
async fn open(url: &str, shape: Shape) -> Result<Box<dyn Source>> {
    let url = url.to_owned();
    let open = move || {
        let mut source = source::open(&url)?;
        shape.prepare(&mut *source, FrameProof::None)?;
        Ok(source)
    };
    let opened = tokio::task::spawn_blocking(open).await;
    opened.map_err(|error| panicked("opening the source", &error))?
}

fn panicked(who: &str, error: &tokio::task::JoinError) -> Failure {
    let what = format!("{who} failed ({error})");
    Failure::new(FailureKind::Internal, what, "please report this")
}

fn offer(options: &DemoOptions, protection: &Protection, identity: Arc<Identity>) -> Offer {
    Offer {
        identity,
        suites: protection.suites.clone(),
        mechanisms: options.mechanisms.clone(),
        rekey: RekeyPolicy::default(),
        unit: Unit::Frame,
        selection_seed: 0,
        shape: protection.shape,
        known: KnownPeers::nowhere(),
        group: None,
        wish: Wish::default(),
        attended: false,
    }
}

/// Shows what one viewer's network carries, and what an eavesdropper there makes of it.
fn wire_tap(feeds: &Arc<DemoFeeds>, info: &StreamInfo) -> Result<(WireTap, Arc<Eavesdropper>)> {
    let wire = WirePicture::start(Arc::clone(feeds))?;
    let eavesdropper = Arc::new(Eavesdropper::start(Arc::clone(feeds), info.clone())?);
    let heard = Arc::clone(&eavesdropper);
    let one = OneViewer::default();
    let tap = move |viewer, bytes: &[u8]| {
        if one.is(viewer) {
            wire.take(bytes);
            heard.hear(bytes);
        }
    };
    Ok((Box::new(tap), eavesdropper))
}

/// The viewer whose records are shown: two sessions mixed would be neither.
#[derive(Default)]
struct OneViewer(Mutex<Option<(u64, Instant)>>);

impl OneViewer {
    fn is(&self, viewer: u64) -> bool {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is = shown.is_none_or(|(of, last)| of == viewer || last.elapsed() > QUIET);
        if is {
            *shown = Some((viewer, Instant::now()));
        }
        is
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_viewer_are_shown_until_it_is_quiet() {
        let one = OneViewer::default();
        assert!(one.is(3) && !one.is(4) && one.is(3));
        let long_ago = Instant::now()
            .checked_sub(2 * QUIET)
            .expect("the machine runs for longer");
        *one.0.lock().expect("no panic") = Some((3, long_ago));
        assert!(one.is(4) && !one.is(3));
    }
}
