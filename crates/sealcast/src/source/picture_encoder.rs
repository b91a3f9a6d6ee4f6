//! Raw pictures of a source as H.264 of the program's own encoder.

use bytes::Bytes;

use super::coded::at_rate;
use super::{Encoding, SKIP_PATIENCE, Skip};
use crate::codec::H264Encoder;
use crate::failure::Result;
use crate::media::{Codec, FrameRate, Picture, StreamInfo};

/// Encodes the pictures of one stream, with the rate control, keyframes and skipped pictures that a
/// [`Source`](super::Source) promises.
pub(super) struct PictureEncoder {
    encoder: H264Encoder,
    encoding: Encoding,
    width: usize,
    height: usize,
    rate: FrameRate,
    /// Says whether to leave out the next picture.
    skip: Option<Skip>,
    /// Pictures left out one after the other.
    left_out: u64,
    /// Bits per second that were last asked for.
    asked: Option<u64>,
}

impl PictureEncoder {
    /// An encoder for pictures of that size and rate.
    ///
    /// # Errors
    /// The encoder does not support that size, or does not start.
    pub(super) fn new(encoding: Encoding, (width, height): (usize, usize), rate: FrameRate) -> Result<Self> {
        Ok(Self {
            encoder: H264Encoder::new(encoding.settings(width, height, rate))?,
            encoding,
            width,
            height,
            rate,
            skip: None,
            left_out: 0,
            asked: None,
        })
    }

    /// Go on with pictures of another size or rate, and the same settings.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[cfg(feature = "gst")]
    pub(super) fn restart(&mut self, (width, height): (usize, usize), rate: FrameRate) -> Result<()> {
        self.encoder = H264Encoder::new(self.encoding.settings(width, height, rate))?;
        (self.width, self.height, self.rate) = (width, height, rate);
        if let Some(bits) = self.asked {
            self.set_bitrate(bits);
        }
        Ok(())
    }

    /// Description of the stream.
    pub(super) fn info(&self) -> StreamInfo {
        // The encoder accepts no larger sides.
        let side = |pixels: usize| u16::try_from(pixels).unwrap_or(u16::MAX);
        StreamInfo {
            codec: Codec::H264,
            width: side(self.width),
            height: side(self.height),
            rate: self.rate,
            parameters: self.encoder.parameters().to_vec(),
        }
    }

    /// True if the next picture should not be encoded. It is never true for longer than [`SKIP_PATIENCE`].
    pub(super) fn leaves_out(&mut self) -> bool {
        let skip = self.skip.as_ref().is_some_and(|skip| skip());
        let skip = skip && at_rate(self.left_out, self.rate) < SKIP_PATIENCE;
        self.left_out = if skip { self.left_out + 1 } else { 0 };
        skip
    }

    /// Encodes one picture. Returns the access unit, and true if it is a keyframe.
    ///
    /// # Errors
    /// The picture has another size, or the encoder failed.
    pub(super) fn encode(&mut self, picture: &Picture) -> Result<(Bytes, bool)> {
        let (data, keyframe) = self.encoder.encode(picture)?;
        Ok((Bytes::from(data), keyframe))
    }

    /// As [`Source::request_keyframe`](super::Source::request_keyframe).
    pub(super) fn request_keyframe(&mut self) {
        self.encoder.request_keyframe();
    }

    /// As [`Source::set_bitrate`](super::Source::set_bitrate).
    pub(super) fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        self.asked = Some(bits_per_second);
        self.encoder.set_bitrate(self.encoding.within(bits_per_second));
        self.encoding.follows()
    }

    /// As [`Source::aim_at`](super::Source::aim_at). What the pictures take at least is known when they come.
    ///
    /// # Errors
    /// The encoder does not start.
    pub(super) fn aim_at(&mut self, bits_per_second: u64) -> Result<Option<u64>> {
        self.encoding = Encoding::constant(bits_per_second);
        self.encoder = H264Encoder::new(self.encoding.settings(self.width, self.height, self.rate))?;
        Ok(None)
    }

    /// As [`Source::skip_if`](super::Source::skip_if).
    pub(super) fn skip_if(&mut self, skip: Skip) {
        self.skip = Some(skip);
    }
}
