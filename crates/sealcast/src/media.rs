//! What flows between source, session and sink: encoded frames, and the raw pictures at either end.

use std::time::{Duration, Instant};

use bytes::Bytes;
pub use sealcast_proto::unit::{Codec, FrameRate, StreamInfo};

/// One access unit as its source made it: H.264 in Annex B with start codes (parameter sets in front of every
/// keyframe), or one JPEG image.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Number of the frame in its stream, from 0. The pump numbers frames as it hands them out, so that a gap always
    /// means that one was lost after that; sources write 0.
    pub number: u64,
    /// Whether it can be decoded without earlier frames. Always true for Motion JPEG.
    pub keyframe: bool,
    /// Presentation time since the stream began.
    pub media_time: Duration,
    /// When the source began to take the picture; equal to `captured` where the source cannot tell.
    pub began: Instant,
    /// When the picture was complete at the source.
    pub captured: Instant,
    /// When it had been encoded; equal to `captured` where the source delivers encoded frames.
    pub encoded: Instant,
    /// The access unit.
    pub data: Bytes,
}

/// A raw picture in planar YUV 4:2:0 (I420), without padding: `y` is `width * height` bytes, `u` and `v` a quarter of
/// it each. Width and height are even.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width in pixels, even.
    pub width: usize,
    /// Height in pixels, even.
    pub height: usize,
    /// Luma.
    pub y: Vec<u8>,
    /// Blue difference.
    pub u: Vec<u8>,
    /// Red difference.
    pub v: Vec<u8>,
}

impl Picture {
    /// A black picture.
    ///
    /// # Panics
    /// If `width` or `height` is odd: callers check sizes where they enter the program.
    pub fn black(width: usize, height: usize) -> Self {
        assert!(
            width.is_multiple_of(2) && height.is_multiple_of(2),
            "I420 pictures have even sides"
        );
        let chroma = width / 2 * (height / 2);
        Self {
            width,
            height,
            y: vec![16; width * height],
            u: vec![128; chroma],
            v: vec![128; chroma],
        }
    }
}

/// A frame as the viewer received, verified and opened it.
#[derive(Clone, Debug)]
pub struct ReceivedFrame {
    /// Number of the frame in its stream, as counted by the source.
    pub number: u64,
    /// Whether it can be decoded without earlier frames.
    pub keyframe: bool,
    /// Presentation time since the stream began.
    pub media_time: Duration,
    /// When the last byte of the frame had arrived, been verified and opened, on this machine's monotonic clock.
    pub opened: Instant,
    /// The access unit, as [`Frame::data`].
    pub data: Bytes,
}
