//! A simulated camera.

use sealcast::media::Codec;

/// Settings with which a camera encodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Camera {
    pub(crate) codec: Codec,
    pub(crate) rate: u32,
    /// Frames from keyframe to keyframe; H.264 only.
    pub(crate) group: u32,
    /// Slices of each H.264 picture.
    pub(crate) slices: u32,
    /// Quantizer of H.264, 0 to 51.
    pub(crate) quantizer: u32,
    /// Quality of JPEG, 1 to 100.
    pub(crate) quality: u8,
}
