//! The demo, with everything on this machine: a synthetic camera, the sealed stream over loopback, the viewer, and
//! the cost of protection.

mod eavesdropper;
mod figures;
mod options;
mod page;
mod pictures;
mod price;
mod stream;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::seal::Suite;
use sealcast_proto::unit::Selection;
use tokio::sync::watch;

pub use self::options::DemoOptions;
use self::page::{Page, ServedPage};
use self::stream::{CameraEnd, Protection, Stream};
use crate::failure::Result;
use crate::meter::metrics::Metrics;
use crate::output;
use crate::run::control::{Sealing, choose};
use crate::run::media::shape::Shape;
use crate::run::session::observe::{Observation, Observing, build_info};
use crate::run::session::retry::turned_on;
use crate::transport::WebListener;
use crate::web::demo::{DemoFeeds, Wish};

/// Interval of the updates of the page's figures.
const FIGURES_INTERVAL: Duration = Duration::from_millis(400);
/// Name of the comparison in the report.
const PRICE_NAME: &str = "seal and open a frame, minus the same steps without a cipher, ns";

/// Run the demo until `stop` turns true or the source ends.
///
/// # Errors
/// The source cannot be opened, or a port cannot be bound.
pub async fn demo(options: DemoOptions, stop: watch::Receiver<bool>) -> Result<()> {
    let observing = Observation::start("demo", options.observe.clone(), Metrics::new(build_info())).await?;
    let outcome = run(&options, &observing, stop).await;
    observing.finish(outcome)
}

async fn run(options: &DemoOptions, observing: &Observing, mut stop: watch::Receiver<bool>) -> Result<()> {
    let observation = observing.observation();
    observation.setting("source", &options.source);
    observation.setting("shape", &options.shape.to_string());
    let page = (!options.headless)
        .then(|| Page::bind(&options.page, &observation.metrics))
        .transpose()?;
    let mut demo = Demo::new(options, observing)?;
    let browsers = page.as_ref().map(Page::listen);
    let ticket = browsers
        .as_ref()
        .map(|browsers| demo.camera.page_ticket(browsers))
        .transpose()?;
    let mut stream = demo.start(demo.protection.clone(), browsers).await?;
    let mut page = page.zip(ticket).map(|(page, ticket)| page.serve(&demo.feeds, &ticket));

    let began = Instant::now();
    let mut tick = tokio::time::interval(FIGURES_INTERVAL);
    let outcome = loop {
        tokio::select! {
            _ = tick.tick() => {
                let stats = stream.figures().stats(began.elapsed(), observing, stream.price());
                demo.feeds.show_stats(&stats)?;
            }
            _ = turned_on(&mut stop) => break Ok(()),
            ended = stream.ended() => break ended,
            (wish, answer) = ServedPage::wish(page.as_mut()) => {
                let granted = demo.grant(wish, &mut stream, page.as_ref()).await?;
                // It fails if the page does not wait any more.
                let _ = answer.send(granted);
            }
        }
    };
    let published = stream.stop().await;
    let price = stream.price();
    if let Some(summary) = price {
        observation.paired(PRICE_NAME, summary);
    }
    if options.headless {
        output::print(&format!("{}\n", stream.figures().table(observing, price)))?;
    }
    outcome.and(published)
}

/// State that lasts while streams begin anew.
struct Demo<'a> {
    options: &'a DemoOptions,
    observing: &'a Observing,
    feeds: Arc<DemoFeeds>,
    camera: CameraEnd,
    protection: Protection,
}

impl<'a> Demo<'a> {
    fn new(options: &'a DemoOptions, observing: &'a Observing) -> Result<Self> {
        Ok(Self {
            options,
            observing,
            feeds: Arc::default(),
            camera: CameraEnd::new()?,
            protection: Protection {
                suites: options.suites.clone(),
                shape: options.shape,
                selection: Selection::All,
            },
        })
    }

    async fn start(&self, protection: Protection, browsers: Option<WebListener>) -> Result<Stream> {
        let shown = (&self.feeds, self.observing.observation());
        Stream::start(self.options, protection, &self.camera, browsers, shown).await
    }

    /// Does what the user of the page wants. Returns why not, in words; then everything is as before.
    ///
    /// # Errors
    /// The stream ended, and does not begin again.
    async fn grant(
        &mut self,
        wish: Wish,
        stream: &mut Stream,
        page: Option<&ServedPage>,
    ) -> Result<std::result::Result<(), String>> {
        let mut protection = self.protection.clone();
        match wish {
            Wish::Selection(selection) => {
                let chosen = choose(stream.camera(), &selection);
                // So that the eavesdropper is shown from the beginning of a picture.
                let granted = chosen.and_then(|chosen| {
                    self.protection.selection = chosen;
                    Sealing::request_keyframe(stream.camera()).map_err(str::to_owned)
                });
                return Ok(granted);
            }
            Wish::Suite(name) => match Suite::by_name(&name) {
                Some(suite) => protection.suites = vec![suite],
                None => return Ok(Err(format!("there is no suite \"{name}\""))),
            },
            Wish::Shape(shape) => match shape.parse::<Shape>() {
                Ok(shape) => protection.shape = shape,
                Err(failure) => return Ok(Err(failure.to_string())),
            },
        }
        if !protection.shape.is_off() {
            protection.selection = Selection::All;
        }
        // A stream that ended badly meanwhile is replaced as well.
        let _ = stream.stop().await;
        let begun = self.start(protection.clone(), page.map(ServedPage::listen)).await;
        match begun {
            Ok(begun) => {
                *stream = begun;
                self.protection = protection;
                Ok(Ok(()))
            }
            Err(failure) => {
                *stream = self
                    .start(self.protection.clone(), page.map(ServedPage::listen))
                    .await?;
                Ok(Err(failure.to_string()))
            }
        }
    }
}
