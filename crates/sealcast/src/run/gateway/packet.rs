//! A packet of a camera, on its way to a subscriber.

use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::rtsp::Channel;

use crate::run::media::queue::Queued;

/// An RTP or RTCP packet from a camera, unchanged.
pub(super) struct Packet {
    /// The subscriber's number for the camera.
    pub(super) slot: u8,
    pub(super) channel: Channel,
    pub(super) bytes: Bytes,
    pub(super) arrived: Instant,
}

impl Queued for Packet {
    /// The start of video at a keyframe is decided before packets are queued.
    fn keyframe(&self) -> bool {
        true
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}
