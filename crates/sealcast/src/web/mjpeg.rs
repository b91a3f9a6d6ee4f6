//! Moving pictures that every browser shows in a plain image: consecutive JPEGs in one response.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use tokio::sync::watch;

const TYPE: &str = "multipart/x-mixed-replace; boundary=picture";
const BOUNDARY: &str = "\r\n--picture\r\n";

/// A response that sends the newest JPEG each time the browser has room for one, until the sender is dropped. Empty
/// values are skipped. A slow browser misses pictures; nothing queues up.
pub fn jpeg_stream(pictures: watch::Receiver<Bytes>) -> Response {
    jpeg_stream_by(pictures, |picture: Bytes| {
        std::future::ready((!picture.is_empty()).then_some(picture))
    })
}

/// As [`jpeg_stream`], but `jpeg` converts a value to a JPEG just before it is sent, or returns `None` to skip it.
pub fn jpeg_stream_by<T, F, R>(mut values: watch::Receiver<T>, jpeg: F) -> Response
where
    T: Clone + Send + Sync + 'static,
    F: Fn(T) -> R + Send + 'static,
    R: Future<Output = Option<Bytes>> + Send,
{
    // Show an existing picture at once.
    values.mark_changed();
    let parts = stream::unfold((values, jpeg, true), async |(mut values, jpeg, first)| {
        loop {
            values.changed().await.ok()?;
            let value = values.borrow_and_update().clone();
            if let Some(picture) = jpeg(value).await {
                return Some((Ok::<_, Infallible>(part(&picture, first)), (values, jpeg, false)));
            }
        }
    });
    ([(header::CONTENT_TYPE, TYPE)], Body::from_stream(parts)).into_response()
}

/// One picture with its header, followed at once by the boundary of the next one: browsers show a picture only when
/// they have received that boundary, and would otherwise be one picture late.
fn part(picture: &[u8], first: bool) -> Bytes {
    let head = format!("Content-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", picture.len());
    let mut part = BytesMut::with_capacity(picture.len() + head.len() + 2 * BOUNDARY.len());
    if first {
        part.extend_from_slice(BOUNDARY.as_bytes());
    }
    part.extend_from_slice(head.as_bytes());
    part.extend_from_slice(picture);
    part.extend_from_slice(BOUNDARY.as_bytes());
    part.freeze()
}
