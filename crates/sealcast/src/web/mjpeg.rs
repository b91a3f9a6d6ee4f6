//! Moving pictures that every browser shows in a plain image: consecutive JPEGs in one response.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use data_encoding::BASE32_NOPAD;
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::failure::Result;
use crate::keys::entropy;

/// Time for which [`next_jpeg`] waits for another picture: as long as people see no standstill.
const NEXT: Duration = Duration::from_millis(300);

/// Boundary between the parts of one response. It is random and told to the browser alone: who made the pictures cannot
/// put it into one, and with it a part of another type.
struct Boundary(String);

impl Boundary {
    fn random() -> Result<Self> {
        let bits = entropy::random::<16>()?;
        Ok(Self(BASE32_NOPAD.encode(&bits)))
    }

    fn content_type(&self) -> String {
        format!("multipart/x-mixed-replace; boundary={}", self.0)
    }

    /// One picture with its header, followed at once by the boundary of the next one: browsers show a picture only
    /// when they have received that boundary, and would otherwise be one picture late.
    fn part(&self, picture: &[u8], first: bool) -> Bytes {
        let line = format!("\r\n--{}\r\n", self.0);
        let head = format!("Content-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", picture.len());
        let mut part = BytesMut::with_capacity(picture.len() + head.len() + 2 * line.len());
        if first {
            part.extend_from_slice(line.as_bytes());
        }
        part.extend_from_slice(head.as_bytes());
        part.extend_from_slice(picture);
        part.extend_from_slice(line.as_bytes());
        part.freeze()
    }
}

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
    let boundary = match Boundary::random() {
        Ok(boundary) => boundary,
        Err(failure) => return (StatusCode::INTERNAL_SERVER_ERROR, failure.to_string()).into_response(),
    };
    let kind = boundary.content_type();
    // Show an existing picture at once.
    values.mark_changed();
    let parts = stream::unfold(
        (values, jpeg, boundary, true),
        async |(mut values, jpeg, boundary, first)| {
            loop {
                values.changed().await.ok()?;
                let value = values.borrow_and_update().clone();
                if let Some(picture) = jpeg(value).await {
                    let part = boundary.part(&picture, first);
                    return Some((Ok::<_, Infallible>(part), (values, jpeg, boundary, false)));
                }
            }
        },
    );
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(parts)).into_response()
}

/// The next JPEG, or the present one if none comes soon. A browser has six connections to a server, in all its tabs
/// together, and a [`jpeg_stream`] keeps one of them for good: a page with several pictures asks for them one by one.
pub(crate) async fn next_jpeg(mut pictures: watch::Receiver<Bytes>) -> Response {
    pictures.mark_unchanged();
    // It fails if the demo ends; then the last picture is as good as any.
    let _ = timeout(NEXT, pictures.changed()).await;
    let picture = pictures.borrow().clone();
    if picture.is_empty() {
        return StatusCode::NO_CONTENT.into_response();
    }
    ([(header::CONTENT_TYPE, "image/jpeg")], picture).into_response()
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    fn boundary_of(response: &Response) -> String {
        let kind = response.headers()[header::CONTENT_TYPE].to_str().expect("text");
        kind.rsplit_once("boundary=").expect("a boundary").1.to_owned()
    }

    #[tokio::test]
    async fn a_picture_cannot_contain_the_boundary_of_the_response() {
        let (pictures, shown) = watch::channel(Bytes::new());
        let before = boundary_of(&jpeg_stream(shown.clone()));
        // A publisher that saw one response, and knows how parts look.
        let injected = format!("\r\n--{before}\r\nContent-Type: text/html\r\n\r\n<script>\r\n--{before}\r\n");
        pictures.send_replace(injected.into());
        let response = jpeg_stream(shown);
        let boundary = boundary_of(&response);
        assert_ne!(boundary, before);
        assert!(boundary.len() >= 26, "128 random bits: {boundary}");
        let mut parts = response.into_body().into_data_stream();
        let part = parts.next().await.expect("a part").expect("no error");
        let part = String::from_utf8(part.to_vec()).expect("text");
        let split: Vec<_> = part.split(&format!("\r\n--{boundary}\r\n")).collect();
        assert_eq!(split.len(), 3, "one part between two boundaries: {part}");
        assert!(split[1].starts_with("Content-Type: image/jpeg\r\n") && split[1].contains("<script>"));
    }

    #[tokio::test]
    async fn the_next_picture_is_waited_for_and_none_is_an_answer_too() {
        let (pictures, shown) = watch::channel(Bytes::new());
        assert_eq!(next_jpeg(shown.clone()).await.status(), StatusCode::NO_CONTENT);
        pictures.send_replace(Bytes::from_static(b"old"));
        let next = tokio::spawn(next_jpeg(shown.clone()));
        tokio::task::yield_now().await;
        pictures.send_replace(Bytes::from_static(b"new"));
        let body = |response: Response| axum::body::to_bytes(response.into_body(), 8);
        assert_eq!(body(next.await.expect("no panic")).await.expect("a body"), "new");
        // No other one comes.
        assert_eq!(body(next_jpeg(shown).await).await.expect("a body"), "new");
    }
}
