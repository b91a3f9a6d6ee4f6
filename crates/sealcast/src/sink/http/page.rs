//! The page of the HTTP sink.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use serde_json::json;
use tokio::sync::{Mutex, oneshot, watch};

use crate::codec::jpeg;
use crate::failure::Result;
use crate::media::Picture;
use crate::sink::proven_age::{AgeShown, ProvenAge};
use crate::web::serve::text;
use crate::web::{Listener, jpeg_stream_by};

/// JPEG quality, high enough that artefacts in addition to the codec's own are hard to see.
const QUALITY: u8 = 85;

/// The content to show.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    /// A picture to be encoded as a JPEG.
    Picture(Arc<Picture>),
    /// A frame that already is a JPEG.
    Jpeg(Bytes),
}

/// The latest state of the stream in the sink.
#[derive(Clone, Debug, Default)]
pub(super) struct Newest {
    /// Description of codec and size; empty before the stream begins.
    pub(super) stream: Bytes,
    /// The picture.
    pub(super) shown: Option<Shown>,
    /// Number of pictures so far, which is also the number of `shown`.
    pub(super) pictures: u64,
    /// Frames so far.
    pub(super) frames: u64,
    /// Number of frames that could not be decoded.
    pub(super) undecoded: u64,
    /// True if the stream has ended.
    pub(super) ended: bool,
    /// Age that the picture can have, in a group.
    pub(super) age: Option<ProvenAge>,
    /// Words about a camera that is off.
    pub(super) away: Option<String>,
}

#[derive(Clone)]
struct Page {
    newest: watch::Receiver<Newest>,
    /// The last JPEG encoded, with its picture's number: the first request encodes it, the others share it.
    made: Arc<Mutex<(u64, Bytes)>>,
}

impl Page {
    async fn jpeg(&self, newest: Newest) -> Option<Bytes> {
        let picture = match newest.shown? {
            Shown::Jpeg(jpeg) => return Some(jpeg),
            Shown::Picture(picture) => picture,
        };
        let mut made = self.made.lock().await;
        if made.0 < newest.pictures {
            let encoded = tokio::task::spawn_blocking(move || jpeg::encode(&picture, QUALITY)).await;
            *made = (newest.pictures, encoded.ok()?.ok()?.into());
        }
        Some(made.1.clone())
    }
}

/// Serve until `closed` completes.
pub(super) async fn serve(
    listener: Listener,
    newest: watch::Receiver<Newest>,
    closed: oneshot::Receiver<()>,
) -> Result<()> {
    let page = Page {
        newest,
        made: Arc::default(),
    };
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
        .route("/stream.mjpeg", get(stream))
        .route("/snapshot.jpg", get(snapshot))
        .route("/health", get(health))
        .with_state(page);
    // The sink signals the end by dropping its sender.
    let closed = async { drop(closed.await) };
    listener.serve_until(router, closed).await
}

async fn stream(State(page): State<Page>) -> Response {
    let newest = page.newest.clone();
    jpeg_stream_by(newest, move |newest| {
        let page = page.clone();
        async move { page.jpeg(newest).await }
    })
}

async fn snapshot(State(page): State<Page>) -> Response {
    let newest = page.newest.borrow().clone();
    match page.jpeg(newest).await {
        Some(jpeg) => ([(header::CONTENT_TYPE, "image/jpeg")], jpeg).into_response(),
        None => (
            StatusCode::SERVICE_UNAVAILABLE,
            "No picture yet: the stream has not begun.\n",
        )
            .into_response(),
    }
}

async fn health(State(page): State<Page>) -> Response {
    let newest = page.newest.borrow();
    let status = match (&newest.shown, newest.ended) {
        (_, true) => "ended",
        (None, false) => "waiting",
        (Some(_), false) => "playing",
    };
    let at_most = match newest.age.and_then(|age| age.shown(Instant::now())) {
        Some(AgeShown::AtMost(age)) => Some(age),
        Some(AgeShown::Alarm(_) | AgeShown::Unknown) | None => None,
    };
    let alarms = newest.age.and_then(ProvenAge::alarms);
    let alarms: Vec<String> = newest.away.clone().into_iter().chain(alarms).collect();
    let answer = json!({
        "status": status,
        "stream": String::from_utf8_lossy(&newest.stream),
        "frames": newest.frames,
        "pictures": newest.pictures,
        "undecoded": newest.undecoded,
        "age_ms": at_most.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        "alarm": (!alarms.is_empty()).then(|| alarms.join("; ")),
    });
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}
