//! Serves a page until its owner stops it.

use std::time::Duration;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;

use crate::failure::{Failure, FailureKind, Result};
use crate::web::{Listener, guarded};

/// Time for open connections to end when the page is stopped.
const GRACE: Duration = Duration::from_millis(300);

/// Serve `router`, guarded, until `closed` completes; then connections have [`GRACE`] to end.
///
/// # Errors
/// The listener cannot be used on this runtime.
pub(crate) async fn serve_until(listener: Listener, router: Router, closed: impl Future<Output = ()>) -> Result<()> {
    let address = listener.listen().address;
    let (stop, mut stopped) = watch::channel(false);
    let stopping = async move {
        // An error means that the sender is gone: stop in that case, too.
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let served = axum::serve(listener.start()?, guarded(router))
        .with_graceful_shutdown(stopping)
        .into_future();
    tokio::pin!(served);
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = closed => {
            let _ = stop.send(true);
            tokio::time::timeout(GRACE, served).await.unwrap_or(Ok(()))
        }
    };
    ended.map_err(|e| {
        Failure::new(
            FailureKind::Network,
            format!("the page on http://{address} ended ({e})"),
            "start it again",
        )
    })
}

/// A response with static text.
pub(crate) fn text(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
