//! The codec configuration, which a viewer needs before the first frame.

use crate::wire::{Malformed, Reader, put_bytes16};

/// Coding of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// H.264 as an Annex B byte stream.
    H264,
    /// Motion JPEG: every frame is one JPEG image.
    Mjpeg,
}

/// Frames per second as a fraction. It is a hint, not a guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    /// Frames.
    pub numerator: u32,
    /// Seconds; never 0.
    pub denominator: u32,
}

/// Description of a stream: the content of a codec-config record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Coding of the frames.
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

impl Codec {
    /// The codec's name in logs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::Mjpeg => "mjpeg",
        }
    }
}

impl StreamInfo {
    /// True if a stream like this can exist: width, height and the denominator of the rate are not 0, Motion JPEG has
    /// no parameters, and those of H.264 are at most 65 535 bytes.
    pub fn is_valid(&self) -> bool {
        let parameters = match self.codec {
            Codec::H264 => self.parameters.len() <= usize::from(u16::MAX),
            Codec::Mjpeg => self.parameters.is_empty(),
        };
        self.width > 0 && self.height > 0 && self.rate.denominator > 0 && parameters
    }

    /// Returns the payload of a codec-config record. Parameters longer than 65 535 bytes do not occur in practice and
    /// are truncated.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(15 + self.parameters.len());
        out.push(match self.codec {
            Codec::H264 => 1,
            Codec::Mjpeg => 2,
        });
        out.extend_from_slice(&self.width.to_be_bytes());
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(&self.rate.numerator.to_be_bytes());
        out.extend_from_slice(&self.rate.denominator.to_be_bytes());
        put_bytes16(
            &mut out,
            &self.parameters[..self.parameters.len().min(usize::from(u16::MAX))],
        );
        out
    }

    /// Parses the payload of a codec-config record.
    ///
    /// # Errors
    /// [`Malformed`]: wrong length, unknown codec, no pixels, a denominator of 0, or Motion JPEG with parameters.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let codec = match reader.u8()? {
            1 => Codec::H264,
            2 => Codec::Mjpeg,
            _ => return Err(Malformed),
        };
        let (width, height) = (reader.u16()?, reader.u16()?);
        let rate = FrameRate {
            numerator: reader.u32()?,
            denominator: reader.u32()?,
        };
        let parameters = reader.bytes16()?.to_vec();
        reader.finish()?;
        let info = Self {
            codec,
            width,
            height,
            rate,
            parameters,
        };
        if info.is_valid() { Ok(info) } else { Err(Malformed) }
    }
}
