//! The page that shows events to a camera. It asks for the time and the coming events, and reports when it showed each.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use sealcast_proto::events::EventReport;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::Listener;
use super::serve::text;
use crate::failure::Result;
use crate::run::Clock;
use crate::run::events::{Schedule, Shown};

/// Default port of the page.
pub const DEFAULT_PORT: u16 = 9882;
/// Maximum length in bytes of a report.
const MAX_REPORT: usize = 256;

/// What pages ask for and report to.
pub struct EventBoard {
    clock: Clock,
    state: Mutex<BoardState>,
    reports: mpsc::Sender<EventReport>,
}

struct BoardState {
    schedule: Schedule,
    /// The page whose reports count: the one that began to report last.
    display: Option<u32>,
    /// Pages whose reports counted before; theirs are refused.
    replaced: Vec<u32>,
}

/// Maximum of replaced pages that are remembered. An older one that goes on reporting would be the display again.
const MAX_REPLACED: usize = 64;

/// A page's report: times in µs since 1970 by this machine's wall clock.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageReport {
    display: u32,
    event: u32,
    shown: u64,
    uncertainty: u32,
}

impl EventBoard {
    /// A board for the events of `schedule`. What was shown goes to `reports`.
    pub fn new(clock: Clock, schedule: Schedule, reports: mpsc::Sender<EventReport>) -> Self {
        let state = BoardState {
            schedule,
            display: None,
            replaced: Vec::new(),
        };
        Self {
            clock,
            state: Mutex::new(state),
            reports,
        }
    }

    fn wall_us(&self) -> u64 {
        self.clock.now().wall / 1000
    }

    fn state<R>(&self, change: impl FnOnce(&mut BoardState) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn report(&self, report: &PageReport) -> StatusCode {
        let now = self.wall_us();
        let accepted = self.state(|state| {
            if state.display != Some(report.display) {
                if state.replaced.contains(&report.display) {
                    return Err(StatusCode::CONFLICT);
                }
                state.replaced.extend(state.display.replace(report.display));
                let excess = state.replaced.len().saturating_sub(MAX_REPLACED);
                state.replaced.drain(..excess);
            }
            match state.schedule.take_shown(report.event, report.shown, now) {
                Shown::First => Ok(()),
                Shown::Again => Err(StatusCode::CONFLICT),
                Shown::Never => Err(StatusCode::BAD_REQUEST),
            }
        });
        if let Err(refused) = accepted {
            return refused;
        }
        let report = EventReport {
            event: report.event,
            shown: report.shown.saturating_mul(1000),
            uncertainty: report.uncertainty.saturating_mul(1000),
        };
        tracing::debug!(event = report.event, uncertainty = report.uncertainty, "shown");
        match self.reports.try_send(report) {
            Ok(()) => StatusCode::NO_CONTENT,
            Err(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
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
    let events = board.state(|state| state.schedule.upcoming(received));
    let answer = json!({ "received": received, "events": events, "sent": board.wall_us() });
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

async fn shown(State(board): State<Arc<EventBoard>>, body: Bytes) -> StatusCode {
    match serde_json::from_slice::<PageReport>(&body) {
        Ok(report) => board.report(&report),
        Err(_) => StatusCode::BAD_REQUEST,
    }
}
