//! Frames with the time at which the source gave them.

use bytes::Bytes;

/// Length of a frame's time, in nanoseconds since 1970, big-endian.
pub(super) const STAMP: usize = 8;

/// A frame, and when the source gave it.
#[derive(Clone)]
pub(super) struct Stamped {
    pub(super) keyframe: bool,
    pub(super) at_ns: i64,
    pub(super) data: Bytes,
}
