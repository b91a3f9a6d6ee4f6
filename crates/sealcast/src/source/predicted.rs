//! Streams in which frames depend on those before them, of whatever codec.

use bytes::Bytes;

use super::coded::Result;
use super::{av1, h264, h265};
use crate::media::{Codec, FrameRate, StreamInfo};

/// Converts the access units of one stream to self-contained frames.
#[derive(Clone, Debug)]
pub(super) enum Predicted {
    H264(h264::Stream),
    H265(h265::Stream),
    Av1(av1::Stream),
}

impl Default for Predicted {
    fn default() -> Self {
        Self::of(Codec::H264)
    }
}

impl Predicted {
    /// A stream of this codec. Motion JPEG, of which every frame stands alone, has that of H.264, and does not use it.
    pub(super) fn of(codec: Codec) -> Self {
        match codec {
            Codec::H264 | Codec::Mjpeg => Self::H264(h264::Stream::default()),
            Codec::H265 => Self::H265(h265::Stream::default()),
            Codec::Av1 => Self::Av1(av1::Stream::default()),
        }
    }

    /// Its codec.
    pub(super) fn codec(&self) -> Codec {
        match self {
            Self::H264(_) => Codec::H264,
            Self::H265(_) => Codec::H265,
            Self::Av1(_) => Codec::Av1,
        }
    }

    /// Stores a parameter set without start code, or a sequence header with its size.
    ///
    /// # Errors
    /// It cannot be used.
    pub(super) fn learn(&mut self, parameters: &[u8]) -> Result<()> {
        match self {
            Self::H264(stream) => stream.learn(parameters),
            Self::H265(stream) => stream.learn(parameters),
            Self::Av1(stream) => stream.learn(parameters),
        }
    }

    /// True if a decoder could start at a keyframe now.
    pub(super) fn is_decodable(&self) -> bool {
        match self {
            Self::H264(stream) => stream.is_decodable(),
            Self::H265(stream) => stream.is_decodable(),
            Self::Av1(stream) => stream.is_decodable(),
        }
    }

    /// The rate that the stream states.
    pub(super) fn rate(&self) -> Option<FrameRate> {
        match self {
            Self::H264(stream) => stream.sequence().and_then(|sequence| sequence.rate),
            Self::H265(stream) => stream.sequence().and_then(|sequence| sequence.rate),
            Self::Av1(stream) => stream.sequence().and_then(|sequence| sequence.rate),
        }
    }

    /// Description of the stream; `rate` overrides the rate that the stream states.
    pub(super) fn info(&self, rate: Option<FrameRate>) -> StreamInfo {
        match self {
            Self::H264(stream) => stream.info(rate),
            Self::H265(stream) => stream.info(rate),
            Self::Av1(stream) => stream.info(rate),
        }
    }

    /// Inspects an access unit in Annex B, or a temporal unit; returns the frame to deliver, and true if it is a
    /// keyframe. `sync` is true if the container marks it as one, which only H.264 needs.
    ///
    /// # Errors
    /// Its parameters cannot be used, it is damaged, or too large.
    pub(super) fn finish(&mut self, unit: Bytes, sync: bool) -> Result<(Bytes, bool)> {
        match self {
            Self::H264(stream) => stream.finish(unit, sync),
            Self::H265(stream) => stream.finish(unit),
            Self::Av1(stream) => stream.finish(unit),
        }
    }
}
