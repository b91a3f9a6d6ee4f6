//! The codec configuration: what a viewer must know before the first frame.

/// How frames are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// H.264 as an Annex B byte stream.
    H264,
    /// Motion JPEG: every frame one JPEG image.
    Mjpeg,
}

/// Frames per second as a fraction: a hint, not a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    /// Frames.
    pub numerator: u32,
    /// Seconds; never 0.
    pub denominator: u32,
}

/// What a stream is: the codec-config record's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// How frames are coded.
    pub codec: Codec,
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
    /// Frames per second.
    pub rate: FrameRate,
    /// H.264: SPS and PPS in Annex B with start codes. Motion JPEG: empty.
    pub parameters: Vec<u8>,
}
