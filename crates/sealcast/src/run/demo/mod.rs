//! The demo, with everything on this machine: a synthetic camera, the sealed stream over loopback, the viewer, and
//! the cost of protection.

mod eavesdropper;
mod figures;
mod pictures;
mod price;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Identity, Mechanism, Role};
use sealcast_proto::rate::RateConfig;
use sealcast_proto::seal::Suite;
use sealcast_proto::session::{DEFAULT_BUDGET, Delivery, RekeyPolicy};
use sealcast_proto::unit::{Selection, Unit};
use sealcast_proto::wire::Ticket;
use tokio::sync::watch;

use super::control::{Controlled, choose};
use super::publish::{Publisher, Viewers};
use super::retry::turned_on;
use super::watch::{PublisherAt, WatchOptions, watch};
use super::{
    Admission, Observation, ObserveOptions, Observing, Offer, PublishOptions, QueueLimits, RuntimeSettings, Shape,
    build_info,
};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::keys::peers::{KnownPeers, MAX_HOURS, Terms};
use crate::meter::metrics::Metrics;
use crate::source::{self, Source};
use crate::transport::{ListenUrl, Listener};
use crate::web::demo::{DemoFeeds, Select, serve};
use crate::web::{Listen, Listener as PageListener};
use eavesdropper::Eavesdropper;
use figures::{Figures, Network};
use pictures::{CameraTap, PreviewSink, WirePicture};
use price::PriceMeter;

/// Interval of the updates of the page's figures.
const FIGURES_INTERVAL: Duration = Duration::from_millis(400);
/// Default port of the page.
const PAGE_PORT: u16 = 9881;
/// Name of the comparison in the report.
const PRICE_NAME: &str = "seal and open a frame, minus the same steps without a cipher, ns";

/// The settings of the demo.
pub struct DemoOptions {
    /// URL of the source.
    pub source: String,
    /// True to serve no page and print the figures at the end.
    pub headless: bool,
    /// URL of the page.
    pub page: String,
    /// What the sizes and times of records show.
    pub shape: Shape,
    /// Suites, best first.
    pub suites: Vec<Suite>,
    /// Mechanisms, best first.
    pub mechanisms: Vec<Arc<dyn Mechanism>>,
    /// Observations requested by the user.
    pub observe: ObserveOptions,
}

/// Run the demo until `stop` turns true or the source ends.
///
/// # Errors
/// The source cannot be opened, or a port cannot be bound.
pub async fn demo(options: DemoOptions, stop: watch::Receiver<bool>) -> Result<()> {
    let observing = Observation::start("demo", options.observe.clone(), Metrics::new(build_info())).await?;
    let outcome = run(&options, &observing, stop).await;
    observing.finish(outcome)
}

async fn run(options: &DemoOptions, observing: &Observing, stop: watch::Receiver<bool>) -> Result<()> {
    let observation = observing.observation();
    observation.setting("source", &options.source);
    observation.setting("shape", &options.shape.to_string());
    let (url, shape) = (options.source.clone(), options.shape);
    let open = move || {
        let mut source = source::open(&url)?;
        shape.prepare(&mut *source)?;
        Ok(source)
    };
    let source = tokio::task::spawn_blocking(open)
        .await
        .map_err(|error| panicked("opening the source", &error))??;
    let info = source.info();
    let feeds = Arc::new(DemoFeeds::default());
    let price = PriceMeter::start(options.suites[0])?;
    let page = (!options.headless).then(|| page_listener(&options.page)).transpose()?;

    let (publish_options, ticket) = camera_end(options, source, observation.metrics.clone())?;
    let mut camera_tap = CameraTap::new(Arc::clone(&feeds), info.codec, price.frames())?;
    let wire = WirePicture::start(Arc::clone(&feeds))?;
    let eavesdropper = Arc::new(Eavesdropper::start(Arc::clone(&feeds), info.clone())?);
    let heard = Arc::clone(&eavesdropper);
    let publisher = Publisher::start(
        publish_options,
        Arc::clone(&observation),
        Some(Box::new(move |frame| camera_tap.take(frame))),
        Some(Box::new(move |bytes| {
            wire.take(bytes);
            heard.hear(bytes);
        })),
    )?;
    if let Some(page) = page {
        open_page(page, &feeds, selecting(&publisher.controlled()));
    }
    let watch_options = WatchOptions {
        budget: DEFAULT_BUDGET,
        publisher: PublisherAt::Connect(ticket),
        offer: offer(options, Arc::new(entropy::identity()?)),
        sink: Box::new(PreviewSink::new(Arc::clone(&feeds))),
        queue: QueueLimits::default(),
        reconnect: true,
    };
    let network = Network {
        publisher: publisher.controlled(),
        eavesdropper,
    };
    let mut figures = Figures::new(&options.source, &info, publisher.hub(), network);
    let (publisher_stop, publisher_stopped) = watch::channel(false);
    let (viewer_stop, viewer_stopped) = watch::channel(false);
    let publishing = tokio::spawn(publisher.run(publisher_stopped));
    let mut watching = tokio::spawn(watch(watch_options, Arc::clone(&observation), viewer_stopped));
    let outcome = show_until_over(&feeds, &mut figures, observing, &price, stop, &mut watching).await;
    if !watching.is_finished() {
        // Stop the viewer first, so that it can close its session properly.
        let _ = viewer_stop.send(true);
        let _ = watching.await;
    }
    let _ = publisher_stop.send(true);
    let published = publishing.await.map_err(|error| panicked("the publisher", &error))?;
    if let Some(summary) = price.summary() {
        observation.paired(PRICE_NAME, summary);
    }
    if options.headless {
        println!("{}", figures.table(observing, price.summary()));
    }
    outcome.and(published)
}

fn panicked(who: &str, error: &tokio::task::JoinError) -> Failure {
    Failure::new(
        FailureKind::Internal,
        format!("{who} failed ({error})"),
        "please report this",
    )
}

fn offer(options: &DemoOptions, identity: Arc<Identity>) -> Offer {
    Offer {
        identity,
        suites: options.suites.clone(),
        mechanisms: options.mechanisms.clone(),
        rekey: RekeyPolicy::default(),
        unit: Unit::Frame,
        selection_seed: 0,
        shape: options.shape,
        known: KnownPeers::nowhere(),
    }
}

/// The publisher's options, with a listener on loopback, and the ticket for its only viewer.
fn camera_end(options: &DemoOptions, source: Box<dyn Source>, metrics: Metrics) -> Result<(PublishOptions, Ticket)> {
    let url: ListenUrl = "tcp://127.0.0.1:0".parse()?;
    let identity = Arc::new(entropy::identity()?);
    let listener = Listener::bind(&url, &identity, Role::Publisher, metrics)?;
    let admission = Admission::in_memory();
    // The demo's own viewer is the only one, and may come back as long as the demo runs.
    let invite = admission.invite(Terms {
        uses: 1,
        hours: MAX_HOURS,
    })?;
    let ticket = url.ticket(listener.local_address()?, identity.peer_id(), Some(invite));
    let publish_options = PublishOptions {
        source,
        offer: offer(options, identity),
        admission: Arc::new(admission),
        max_viewers: 1,
        queue: QueueLimits::default(),
        rate: RateConfig::default(),
        viewers: Viewers::Listen {
            listeners: vec![listener],
            delivery: Delivery::default(),
        },
        settings: RuntimeSettings::new(Selection::All),
        control: None,
    };
    Ok((publish_options, ticket))
}

/// Update the page's figures until the user stops or the stream ends.
async fn show_until_over(
    feeds: &DemoFeeds,
    figures: &mut Figures,
    observing: &Observing,
    price: &PriceMeter,
    mut stop: watch::Receiver<bool>,
    watching: &mut tokio::task::JoinHandle<Result<()>>,
) -> Result<()> {
    let began = Instant::now();
    let mut tick = tokio::time::interval(FIGURES_INTERVAL);
    loop {
        tokio::select! {
            _ = tick.tick() => feeds.show_stats(&figures.stats(began.elapsed(), observing, price.summary()))?,
            _ = turned_on(&mut stop) => return Ok(()),
            watched = &mut *watching => return watched.unwrap_or_else(|error| Err(panicked("the viewer", &error))),
        }
    }
}

fn page_listener(url: &str) -> Result<PageListener> {
    let listener = Listen::parse(url, PAGE_PORT, "the pictures")?.bind()?;
    listener.announce();
    Ok(listener)
}

fn open_page(listener: PageListener, feeds: &DemoFeeds, select: Select) {
    let receivers = feeds.receivers();
    tokio::spawn(async move {
        if let Err(failure) = serve(listener, receivers, select, std::future::pending()).await {
            tracing::error!("{failure}");
        }
    });
}

/// Lets the page change what the publisher encrypts, as long as there is one.
fn selecting(publisher: &Arc<dyn Controlled>) -> Select {
    let publisher: Weak<dyn Controlled> = Arc::downgrade(publisher);
    Arc::new(move |selection| {
        let publisher = publisher.upgrade().ok_or("the demo has ended")?;
        choose(&*publisher, selection)?;
        // So that the eavesdropper is shown from the beginning of a picture.
        publisher.request_keyframe()?;
        Ok(())
    })
}
