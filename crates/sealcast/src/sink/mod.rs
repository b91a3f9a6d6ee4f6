//! Where frames go: the `Sink` seam and the URLs that name its implementations.

mod file;
mod file_mp4;
mod file_mp4_entry;
pub mod http;
mod null;
mod stdout;
mod url;

pub use file::FileSink;
pub use null::{NullCounts, NullSink};
pub use stdout::StdoutSink;
pub use url::{SINK_URLS, open};

use std::time::Duration;

use crate::failure::Result;
use crate::media::{ReceivedFrame, StreamInfo};

/// Takes verified frames. Runs on a thread of its own, so its methods may block; a bounded queue stands before it.
pub trait Sink: Send {
    /// The stream begins, or its parameters changed.
    ///
    /// # Errors
    /// If this sink cannot take such a stream (an `.mjpeg` file for H.264): kind `Sink`.
    fn start(&mut self, info: &StreamInfo) -> Result<()>;

    /// One frame, in order. The first frame after `start`, and after a gap in the numbers, is a keyframe.
    ///
    /// # Errors
    /// A full disk, a closed pipe: kind `Sink`, with what to do.
    fn write(&mut self, frame: &ReceivedFrame) -> Result<()>;

    /// How long decoding the last written frame took, for sinks that decode.
    fn decode_time(&self) -> Option<Duration> {
        None
    }

    /// The stream is over: complete the file so that it plays. Called once, also after a failure elsewhere.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn finish(&mut self) -> Result<()>;
}
