//! The page that shows events to a camera. It asks for the time and the coming events, and reports when it showed each.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;

use super::Listener;
use super::serve::text;
use crate::failure::Result;
use crate::run::events::{DisplayReport, EventBoard, Reported};

/// Default port of the page.
pub const DEFAULT_PORT: u16 = 9882;
/// Maximum length in bytes of a report.
const MAX_REPORT: usize = 256;

/// A page's report: times in µs since 1970 by this machine's wall clock.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageReport {
    display: u32,
    event: u32,
    shown: u64,
    uncertainty: u32,
}

/// Serve the page until `closed` completes.
///
/// # Errors
/// The listener cannot be used on this runtime.
pub async fn serve(listener: Listener, board: Arc<EventBoard>, closed: impl Future<Output = ()>) -> Result<()> {
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
        .route("/time", get(time))
        .route("/shown", post(shown).layer(DefaultBodyLimit::max(MAX_REPORT)))
        .with_state(board);
    listener.serve_until(router, closed).await
}

/// The second and third of four timestamps, and the coming events.
async fn time(State(board): State<Arc<EventBoard>>) -> Response {
    let received = board.wall_us();
    let events = board.upcoming(received);
    let answer = json!({ "received": received, "events": events, "sent": board.wall_us() });
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

async fn shown(State(board): State<Arc<EventBoard>>, body: Bytes) -> StatusCode {
    let Ok(report) = serde_json::from_slice::<PageReport>(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    let report = DisplayReport {
        display: report.display,
        event: report.event,
        shown: report.shown,
        uncertainty: report.uncertainty,
    };
    match board.report(report) {
        Reported::Taken => StatusCode::NO_CONTENT,
        Reported::Superseded => StatusCode::CONFLICT,
        Reported::Wrong => StatusCode::BAD_REQUEST,
        Reported::Busy => StatusCode::SERVICE_UNAVAILABLE,
    }
}
