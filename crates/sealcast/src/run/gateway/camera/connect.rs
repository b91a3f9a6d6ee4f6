//! The connection to a camera, tried until the camera is there.

use std::time::{Duration, Instant};

use crate::failure::{Failure, FailureKind, Result, SourceFault};
use crate::rtsp::{self, Place, RtspConnection, RtspOptions};
use crate::run::session::retry::Retry;

/// Connect timeout; after it the clients that asked for the camera get 503.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connect to a camera where it is, with retries until the connect timeout. After a camera went away, begin with a
/// pause and try until `away_until`.
///
/// # Errors
/// The camera cannot be reached, or does not have the pinned certificate.
pub(super) async fn connect(
    target: &RtspOptions,
    place: &Place,
    away_until: Option<Instant>,
) -> Result<RtspConnection> {
    let until = away_until.unwrap_or_else(|| Instant::now() + CONNECT_TIMEOUT);
    let tried = tokio::time::timeout_at(until.into(), async {
        let mut retry = Retry::default();
        if away_until.is_some() {
            retry.wait().await;
        }
        loop {
            match rtsp::connect(place, target.fingerprint).await {
                Err(failure) if failure.fault == SourceFault::Unreachable => tracing::debug!("{failure}"),
                connected => return connected,
            }
            retry.wait().await;
        }
    });
    tried.await.unwrap_or_else(|_| {
        let url = &place.url;
        let what = format!("the camera at {}:{} cannot be reached", url.host, url.port);
        Err(Failure::new(
            FailureKind::Source,
            what,
            "check that it is on, and its address",
        ))
    })
}
