//! The demo's page: the camera's picture, what the network carries, the viewer's picture, and the figures beside them.

mod stats;

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::watch;

pub use self::stats::{DemoStats, Estimate, FrameCounts, MachineStats, Price, SessionStats, Spread, Stage, StageStats};
use crate::failure::{Failure, FailureKind, Result};
use crate::web::serve::{serve_until, text};
use crate::web::{Listener, jpeg_stream};

/// Figures are sent no more often than this: faster, nobody can read them.
const STATS_INTERVAL: Duration = Duration::from_millis(250);

/// What the demo feeds its page with. Values replace each other: a page that is slow, or not open, costs nothing.
#[derive(Debug)]
pub struct DemoFeeds {
    camera: watch::Sender<Bytes>,
    wire: watch::Sender<Bytes>,
    viewer: watch::Sender<Bytes>,
    stats: watch::Sender<Bytes>,
}

/// The page's ends of [`DemoFeeds`].
#[derive(Clone, Debug)]
pub struct DemoReceivers {
    camera: watch::Receiver<Bytes>,
    wire: watch::Receiver<Bytes>,
    viewer: watch::Receiver<Bytes>,
    stats: watch::Receiver<Bytes>,
}

impl Default for DemoFeeds {
    fn default() -> Self {
        let feed = || watch::Sender::new(Bytes::new());
        Self {
            camera: feed(),
            wire: feed(),
            viewer: feed(),
            stats: feed(),
        }
    }
}

impl DemoFeeds {
    /// The page's ends, for [`serve`].
    pub fn receivers(&self) -> DemoReceivers {
        DemoReceivers {
            camera: self.camera.subscribe(),
            wire: self.wire.subscribe(),
            viewer: self.viewer.subscribe(),
            stats: self.stats.subscribe(),
        }
    }

    /// Whether somebody looks at the pictures: if not, they need not be made. [`serve`] holds one receiver itself.
    pub fn watched(&self) -> bool {
        self.camera.receiver_count() > 1 || self.wire.receiver_count() > 1 || self.viewer.receiver_count() > 1
    }

    /// The camera's picture, a JPEG (see [`jpeg::preview`](crate::codec::jpeg::preview)).
    pub fn show_camera(&self, jpeg: Vec<u8>) {
        self.camera.send_replace(jpeg.into());
    }

    /// What the network carries, a JPEG (see [`wire_picture`](crate::web::wire_picture)).
    pub fn show_wire(&self, jpeg: Vec<u8>) {
        self.wire.send_replace(jpeg.into());
    }

    /// The viewer's picture, a JPEG.
    pub fn show_viewer(&self, jpeg: Vec<u8>) {
        self.viewer.send_replace(jpeg.into());
    }

    /// The figures; two to four times a second is right.
    ///
    /// # Errors
    /// If a figure is no number that JSON knows.
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

/// Serve the page until `closed` is ready, then end its connections.
///
/// # Errors
/// If the listener cannot be used on this runtime.
pub async fn serve(listener: Listener, feeds: DemoReceivers, closed: impl Future<Output = ()> + Send) -> Result<()> {
    let router = Router::new()
        .route(
            "/",
            get(|| async { text("text/html; charset=utf-8", include_str!("page.html")) }),
        )
        .route(
            "/page.css",
            get(|| async { text("text/css; charset=utf-8", include_str!("page.css")) }),
        )
        .route(
            "/page.js",
            get(|| async { text("text/javascript; charset=utf-8", include_str!("page.js")) }),
        )
        .route(
            "/camera.mjpeg",
            get(|State(feeds): State<DemoReceivers>| async { jpeg_stream(feeds.camera) }),
        )
        .route(
            "/wire.mjpeg",
            get(|State(feeds): State<DemoReceivers>| async { jpeg_stream(feeds.wire) }),
        )
        .route(
            "/viewer.mjpeg",
            get(|State(feeds): State<DemoReceivers>| async { jpeg_stream(feeds.viewer) }),
        )
        .route("/events", get(events))
        .route("/stats.json", get(stats))
        .with_state(feeds);
    serve_until(listener, router, closed).await
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
