//! Reasons for which received bytes are no messages.

use super::message::{MAX_BODY, MAX_HEAD, MAX_HEADERS, MAX_UNREAD};

/// The received bytes are not RTSP. The start of the next message is unknown, so the connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRtsp {
    /// The head is longer than [`MAX_HEAD`].
    #[error("the head of a message has no end within {MAX_HEAD} bytes")]
    LongHead,
    /// More than [`MAX_HEADERS`] headers.
    #[error("a message has more than {MAX_HEADERS} headers")]
    ManyHeaders,
    /// The first line is neither that of a request nor that of a response.
    #[error("what came is neither an RTSP request nor a response")]
    FirstLine,
    /// A line among the headers is not a header.
    #[error("a line among the headers is no header")]
    Header,
    /// `Content-Length` is not a number, has two different values, or is above [`MAX_BODY`].
    #[error("a content length is no number up to {MAX_BODY}")]
    BodyLength,
    /// More than [`MAX_UNREAD`] bytes arrived while an earlier request was not answered yet.
    #[error("more than {MAX_UNREAD} bytes came before an answer")]
    Unread,
}
