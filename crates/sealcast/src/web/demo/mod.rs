//! The demo's page: the camera's picture, the sealed data on the network, what an eavesdropper makes of it, the
//! viewer's picture, and statistics. The user can change there what is encrypted.

mod stats;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, put};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::watch;

pub use self::stats::{
    DemoStats, EavesdropperStats, Estimate, FrameCounts, MachineStats, Price, SessionStats, Spread, Stage, StageStats,
};
use crate::failure::{Failure, FailureKind, Result};
use crate::web::serve::text;
use crate::web::{Listener, jpeg_stream};

/// Minimum interval between updates of the statistics: nobody can read faster ones.
const STATS_INTERVAL: Duration = Duration::from_millis(250);

/// Inputs of the demo's page. A new value replaces the previous one, so a page that is slow or not open costs
/// nothing.
#[derive(Debug)]
pub struct DemoFeeds {
    camera: watch::Sender<Bytes>,
    wire: watch::Sender<Bytes>,
    attack: watch::Sender<Bytes>,
    viewer: watch::Sender<Bytes>,
    stats: watch::Sender<Bytes>,
}

/// The receivers of [`DemoFeeds`], for the page.
#[derive(Clone, Debug)]
pub struct DemoReceivers {
    camera: watch::Receiver<Bytes>,
    wire: watch::Receiver<Bytes>,
    attack: watch::Receiver<Bytes>,
    viewer: watch::Receiver<Bytes>,
    stats: watch::Receiver<Bytes>,
}

impl Default for DemoFeeds {
    fn default() -> Self {
        let feed = || watch::Sender::new(Bytes::new());
        Self {
            camera: feed(),
            wire: feed(),
            attack: feed(),
            viewer: feed(),
            stats: feed(),
        }
    }
}

impl DemoFeeds {
    /// Returns the receivers, for [`serve`].
    pub fn receivers(&self) -> DemoReceivers {
        DemoReceivers {
            camera: self.camera.subscribe(),
            wire: self.wire.subscribe(),
            attack: self.attack.subscribe(),
            viewer: self.viewer.subscribe(),
            stats: self.stats.subscribe(),
        }
    }

    /// True if a page is open; otherwise no pictures need to be made. [`serve`] itself holds one receiver.
    pub fn watched(&self) -> bool {
        let pictures = [&self.camera, &self.wire, &self.attack, &self.viewer];
        pictures.into_iter().any(|picture| picture.receiver_count() > 1)
    }

    /// Set the camera's picture, a JPEG (see [`jpeg::preview`](crate::codec::jpeg::preview)).
    pub fn show_camera(&self, jpeg: Vec<u8>) {
        self.camera.send_replace(jpeg.into());
    }

    /// Set the picture of the sealed data, a JPEG (see [`wire_picture`](crate::web::wire_picture())).
    pub fn show_wire(&self, jpeg: Vec<u8>) {
        self.wire.send_replace(jpeg.into());
    }

    /// Set what an eavesdropper makes of the data, a JPEG.
    pub fn show_attack(&self, jpeg: Vec<u8>) {
        self.attack.send_replace(jpeg.into());
    }

    /// Set the viewer's picture, a JPEG.
    pub fn show_viewer(&self, jpeg: Vec<u8>) {
        self.viewer.send_replace(jpeg.into());
    }

    /// Set the statistics; call it two to four times a second.
    ///
    /// # Errors
    /// A value is not a number that JSON can represent.
    pub fn show_stats(&self, stats: &DemoStats) -> Result<()> {
        let json = serde_json::to_vec(stats).map_err(|e| {
            Failure::new(
                FailureKind::Internal,
                format!("the demo's figures cannot be written ({e})"),
                "report it",
            )
        })?;
        self.stats.send_replace(json.into());
        Ok(())
    }
}

/// Changes what the publisher encrypts; the text is as for `--encrypt`. Returns why not.
pub type Select = Arc<dyn Fn(&str) -> std::result::Result<(), String> + Send + Sync>;

/// Longest text that says what to encrypt, in bytes.
const MAX_SELECTION: usize = 64;

/// Serve the page until `closed` completes, then end its connections.
///
/// # Errors
/// The listener cannot be used on this runtime.
pub async fn serve(
    listener: Listener,
    feeds: DemoReceivers,
    select: Select,
    closed: impl Future<Output = ()> + Send,
) -> Result<()> {
    let router = Router::new()
        .route("/", get(async || text("text/html; charset=utf-8", include_str!("page.html"))))
        .route("/page.css", get(async || text("text/css; charset=utf-8", include_str!("page.css"))))
        .route("/page.js", get(async || text("text/javascript; charset=utf-8", include_str!("page.js"))))
        .route("/camera.mjpeg", picture(|feeds| feeds.camera))
        .route("/wire.mjpeg", picture(|feeds| feeds.wire))
        .route("/attack.mjpeg", picture(|feeds| feeds.attack))
        .route("/viewer.mjpeg", picture(|feeds| feeds.viewer))
        .route("/events", get(events))
        .route("/stats.json", get(stats))
        // PUT, because pages of others cannot send one without being asked first (Fetch standard, CORS).
        .route("/selection", put(async move |wanted: String| selected(&select, &wanted)))
        .layer(DefaultBodyLimit::max(MAX_SELECTION))
        .with_state(feeds);
    listener.serve_until(router, closed).await
}

fn picture(of: fn(DemoReceivers) -> watch::Receiver<Bytes>) -> MethodRouter<DemoReceivers> {
    get(async move |State(feeds): State<DemoReceivers>| jpeg_stream(of(feeds)))
}

fn selected(select: &Select, wanted: &str) -> Response {
    match select(wanted) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(why) => (StatusCode::CONFLICT, why).into_response(),
    }
}

async fn stats(State(feeds): State<DemoReceivers>) -> Response {
    let json = feeds.stats.borrow().clone();
    (
        [(header::CONTENT_TYPE, "application/json")],
        if json.is_empty() {
            Bytes::from_static(b"null")
        } else {
            json
        },
    )
        .into_response()
}

async fn events(State(feeds): State<DemoReceivers>) -> Response {
    let mut stats = feeds.stats;
    stats.mark_changed();
    let events = stream::unfold((stats, true), async |(mut stats, first)| {
        if !first {
            tokio::time::sleep(STATS_INTERVAL).await;
        }
        loop {
            stats.changed().await.ok()?;
            let json = stats.borrow_and_update().clone();
            if !json.is_empty() {
                let event = Event::default().data(String::from_utf8_lossy(&json));
                return Some((Ok::<_, Infallible>(event), (stats, false)));
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
