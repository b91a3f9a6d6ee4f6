//! Where frames come from: the `Source` seam and the URLs that name its implementations.

pub mod annexb;
pub mod avi;
mod coded;
mod file;
pub mod h264;
pub mod mjpeg;
pub mod mp4;
mod mp4_boxes;
mod mp4_fragments;
mod mp4_track;
mod pace;
pub mod rtsp;
mod rtsp_options;
mod rtsp_session;
mod stdin;
pub mod test_card;
mod url;

pub use coded::{CodedFrame, MAX_FRAME_BYTES, MediaError};
pub use file::{Container, FileOptions, FileSource};
pub(crate) use mp4_track::JPEG_OBJECT_TYPE;
pub use pace::Pacer;
pub use rtsp::RtspSource;
pub use stdin::StdinSource;
pub(crate) use url::{Options, file_path};
pub use url::{SOURCE_URLS, SourceUrl, open, parse_rate};

use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, StreamInfo};

/// Makes frames. Runs on a thread of its own, so its methods may block, but never for longer than
/// [`SOURCE_PATIENCE`] without returning a frame or a failure.
pub trait Source: Send {
    /// What the stream is. Known once the source is open; a later change (new SPS, other size) shows in a later call.
    fn info(&self) -> StreamInfo;

    /// The next frame, in real time (a file source waits until the frame is due), or `None` at the end of the stream.
    ///
    /// # Errors
    /// A camera that hangs up, a file that breaks off, an encoder that fails: in words, with kind `Source`.
    fn next(&mut self) -> Result<Option<Frame>>;

    /// Ask that the next frame be a keyframe. Sources that do not encode ignore it.
    fn request_keyframe(&mut self);

    /// Ask for about so many bits per second from now on; whether the source can follow. Only sources that encode can:
    /// they make no more than they were configured for, so that `u64::MAX` asks for that, and may pass small changes
    /// over. Sources that pass encoded frames through ignore it; for them frames are dropped in the viewers' queues.
    fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        let _ = bits_per_second;
        false
    }

    /// Whether the source may wait, losing nothing, until somebody watches (a file played once), or runs on regardless
    /// (a camera).
    fn waits_for_viewers(&self) -> bool {
        false
    }
}

/// Run what works on a camera's or a file's bytes. A parser that panics on them, ours or a library's, is the source's
/// failure and must not take the publisher down or leave it hanging.
///
/// # Errors
/// Kind `Source`, for a panic too.
pub(crate) fn contain<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Failure::new(
            FailureKind::Source,
            "the source sent something on which its parser crashed",
            "take it for damaged or hostile, and please report what it sends",
        ))
    })
}

/// Longest time a source may stay silent before it must report a failure.
pub const SOURCE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
