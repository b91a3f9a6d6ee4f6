//! Inputs of frames: the `Source` trait, and the URLs that name its implementations.

pub mod annexb;
pub mod av1;
pub mod avi;
mod coded;
mod contained;
mod encoding;
mod entry;
mod file;
#[cfg(feature = "gst")]
mod gst;
mod gst_options;
pub mod h264;
pub mod h265;
mod h265_timing;
mod losses;
mod lost;
pub mod mjpeg;
pub mod mp4;
mod mp4_boxes;
mod mp4_cursor;
mod mp4_fragments;
mod mp4_track;
mod muxed;
pub mod obu;
mod pace;
mod picture_encoder;
mod predicted;
mod raw;
mod reconnect;
pub(crate) mod rtp;
pub(crate) mod rtsp;
mod stdin;
mod strangers;
pub mod test_card;
mod timed;
mod url;
pub mod v4l2;
mod y4m;

pub use coded::{CodedFrame, MAX_FRAME_BYTES, MediaError};
pub(crate) use contained::contain;
pub use encoding::Encoding;
use encoding::MIN_BITRATE;
pub use file::{Container, FileOptions, FileSource};
pub use gst_options::GstOptions;
pub use lost::Lost;
pub(crate) use mp4_track::{JPEG_OBJECT_TYPE, matrix_of};
pub use pace::Pacer;
pub use raw::RawSource;
pub(crate) use rtp::options::DEFAULT_PORT as DEFAULT_RTP_PORT;
pub use rtp::options::RtpOptions;
pub(crate) use sound::dops;
pub use stdin::StdinOptions;
pub use strangers::Strangers;
pub(crate) use url::open_shared;
pub(crate) use url::{Options, file_path};
pub use url::{SOURCE_URLS, SourceUrl, open, parse_rate};

use std::time::{Duration, Instant};

use sealcast_proto::timeline::Jumps;
use sealcast_proto::unit::sound_headers as sound;

use crate::failure::Result;
use crate::media::{Frame, Orientation, SoundInfo, StreamInfo};

/// Returns true if the next picture should not be encoded.
pub type Skip = Box<dyn Fn() -> bool + Send>;

/// Returns true once the publisher stops.
pub type Stopping = std::sync::Arc<dyn Fn() -> bool + Send + Sync>;

/// The longest time for which pictures are left out one after the other, however much waits: the viewers' queues drop
/// what is too much then.
const SKIP_PATIENCE: Duration = Duration::from_secs(1);

/// Produces frames. Runs on a separate thread, so its methods may block, but must return a frame or a failure within
/// [`SOURCE_PATIENCE`], or else heed [`stop_when`](Source::stop_when).
pub trait Source: Send {
    /// Description of the stream, valid once the source is open. After a later change (new SPS, other size) a later
    /// call returns the new description.
    fn info(&self) -> StreamInfo;

    /// Description of the sound beside the picture, if there is some: then [`next`](Self::next) returns its packets
    /// too. Valid as [`info`](Self::info) is.
    fn sound(&self) -> Option<SoundInfo> {
        None
    }

    /// Orientation of the picture. Valid as [`info`](Self::info) is.
    fn orientation(&self) -> Orientation {
        Orientation::default()
    }

    /// Returns the next frame, of the picture or the sound, in real time (a file source waits until the frame is due),
    /// or `None` at the end of the stream.
    ///
    /// # Errors
    /// The camera disconnects, the file is truncated, or the encoder fails: kind `Source`, with a message.
    fn next(&mut self) -> Result<Option<Frame>>;

    /// Request that the next frame be a keyframe. Sources that do not encode ignore it.
    fn request_keyframe(&mut self);

    /// True if the next frame after a request is a keyframe. Of other sources the group of pictures so far is kept for
    /// viewers that join.
    fn makes_keyframes(&self) -> bool {
        false
    }

    /// Request this many bits per second from now on; returns true if the source can follow. Only sources that encode
    /// can: they never exceed their configured rate, so `u64::MAX` requests that rate, and they may ignore small
    /// changes. Sources that pass encoded frames through ignore the request; for them frames are dropped in the
    /// viewers' queues.
    fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        let _ = bits_per_second;
        false
    }

    /// Aim at this many bits per second all the time, with keyframes only on request, for a stream whose traffic is
    /// constant. Called before the first frame. Returns the bits per second at the lowest quality; `None` if the source
    /// does not encode, or does not know its pictures yet.
    ///
    /// # Errors
    /// The encoder does not start.
    fn aim_at(&mut self, bits_per_second: u64) -> Result<Option<u64>> {
        let _ = bits_per_second;
        Ok(None)
    }

    /// Ask `skip` just before each picture is encoded, and leave the picture out if it says so. Sources that do not
    /// encode cannot: frames that depend on it follow.
    fn skip_if(&mut self, skip: Skip) {
        let _ = skip;
    }

    /// Ask `stopping` while waiting for long, and end the stream if it says so. Sources that never wait for longer than
    /// [`SOURCE_PATIENCE`] need not.
    fn stop_when(&mut self, stopping: Stopping) {
        let _ = stopping;
    }

    /// The frames that were lost since the last call, as far as the source can tell.
    fn take_lost(&mut self) -> Lost {
        Lost::default()
    }

    /// Number of times that the stamps of a camera's clock left the time in which its frames came, since the last call.
    /// Frames got the times at which they came then.
    fn take_jumps(&mut self) -> Jumps {
        Jumps::default()
    }

    /// Packets since the last call that were not taken, because of whom they are.
    fn take_strangers(&mut self) -> Strangers {
        Strangers::default()
    }

    /// True if the source may wait without loss until somebody watches (a file played once); false if it must run on
    /// (a camera).
    fn waits_for_viewers(&self) -> bool {
        false
    }
}

/// A source that is silent for this long must report a failure.
pub const SOURCE_PATIENCE: Duration = Duration::from_secs(10);

/// Delay of a wakeup after a deadline that shows that this process was stopped, or the machine suspended: a source that
/// gave nothing meanwhile may be well.
const STOOD_STILL: Duration = Duration::from_secs(1);

/// True if this process itself stood still past the deadline.
fn stood_still(deadline: Instant) -> bool {
    let stood = Instant::now().saturating_duration_since(deadline) >= STOOD_STILL;
    if stood {
        tracing::warn!("this process stood still: the source is given its time anew");
    }
    stood
}
