//! The demo's page: the camera's picture, the sealed data on the network, what an eavesdropper makes of it, and
//! statistics. The page itself is a viewer, which opens the stream in the browser. Its user can change how the stream
//! is protected, and have a bit altered on the way. Its files are made from `web/src/demo`, as those of
//! [`app`].

mod stats;

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, put};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::{mpsc, oneshot, watch};
use zeroize::Zeroizing;

pub use self::stats::{
    DemoStats, EavesdropperStats, Estimate, FrameCounts, MachineStats, Price, SessionStats, Spread, Stage, StageStats,
};
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::Alteration;
use crate::web::serve::text;
use crate::web::{Listener, app, jpeg_stream, next_jpeg};

const PAGE: &str = include_str!("bundle/page.html");
const STYLE: &str = include_str!("bundle/page.css");
const SCRIPT: &str = include_str!("bundle/page.js");

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

/// Wish of the page's user for a change; the text is as for the option of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Parts that are encrypted.
    Selection(String),
    /// The only suite that is offered. The stream begins anew.
    Suite(String),
    /// Shape of the traffic: what the sizes and times of records show. The stream begins anew.
    Shape(String),
}

/// A wish, and where the answer goes: why it was not granted.
pub type Asked = (Wish, oneshot::Sender<std::result::Result<(), String>>);

/// Longest text of a wish, in bytes.
const MAX_WISH: usize = 64;

/// Actions of the page beside showing the feeds.
#[derive(Clone)]
pub struct DemoActions {
    /// Takes wishes.
    pub wishes: mpsc::Sender<Asked>,
    /// Alters a bit on the way to the page's own viewer.
    pub alteration: Alteration,
    /// The ticket with which the page watches by itself, and its invite: for this page alone.
    pub ticket: Zeroizing<String>,
}

/// Serve the page until `closed` completes, then end its connections. `sessions` are the routes on which the page
/// itself watches.
///
/// # Errors
/// The listener cannot be used on this runtime.
pub async fn serve(
    listener: Listener,
    feeds: DemoReceivers,
    actions: DemoActions,
    sessions: Router,
    closed: impl Future<Output = ()> + Send,
) -> Result<()> {
    let DemoActions {
        wishes,
        alteration,
        ticket,
    } = actions;
    let router = Router::new()
        .route("/", get(async || text("text/html; charset=utf-8", PAGE)))
        .route("/page.css", get(async || text("text/css; charset=utf-8", STYLE)))
        .route("/page.js", get(async || text("text/javascript; charset=utf-8", SCRIPT)))
        .route("/camera.mjpeg", picture(|feeds| feeds.camera))
        .route("/wire.mjpeg", picture(|feeds| feeds.wire))
        .route("/attack.mjpeg", picture(|feeds| feeds.attack))
        .route("/viewer.mjpeg", picture(|feeds| feeds.viewer))
        .route("/camera.jpg", still(|feeds| feeds.camera))
        .route("/wire.jpg", still(|feeds| feeds.wire))
        .route("/attack.jpg", still(|feeds| feeds.attack))
        .route("/events", get(events))
        .route("/stats.json", get(stats))
        // PUT, because pages of others cannot send one without being asked first (Fetch standard, CORS).
        .route("/selection", wish(&wishes, Wish::Selection))
        .route("/suite", wish(&wishes, Wish::Suite))
        .route("/shape", wish(&wishes, Wish::Shape))
        .route("/alteration", put(async move || altered(&alteration)))
        .route("/ticket", get(async move || ticket.to_string()))
        .layer(DefaultBodyLimit::max(MAX_WISH))
        .with_state(feeds)
        .merge(app::shared())
        .merge(sessions);
    listener.serve_until(router, closed).await
}

fn picture(of: fn(DemoReceivers) -> watch::Receiver<Bytes>) -> MethodRouter<DemoReceivers> {
    get(async move |State(feeds): State<DemoReceivers>| jpeg_stream(of(feeds)))
}

fn still(of: fn(DemoReceivers) -> watch::Receiver<Bytes>) -> MethodRouter<DemoReceivers> {
    get(async move |State(feeds): State<DemoReceivers>| next_jpeg(of(feeds)).await)
}

fn wish(wishes: &mpsc::Sender<Asked>, of: fn(String) -> Wish) -> MethodRouter<DemoReceivers> {
    let wishes = wishes.clone();
    put(async move |wanted: String| {
        let (answer, answered) = oneshot::channel();
        // Both fail only if the demo ends.
        let _ = wishes.send((of(wanted), answer)).await;
        match answered.await {
            Ok(Ok(())) => StatusCode::NO_CONTENT.into_response(),
            Ok(Err(why)) => (StatusCode::CONFLICT, why).into_response(),
            Err(_) => (StatusCode::CONFLICT, "the demo has ended").into_response(),
        }
    })
}

fn altered(alteration: &Alteration) -> StatusCode {
    alteration.ask();
    StatusCode::NO_CONTENT
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
