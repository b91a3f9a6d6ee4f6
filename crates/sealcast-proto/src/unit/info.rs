//! The codec configuration, which a viewer needs before the first frame.

use crate::wire::{Malformed, Reader, put_bytes16};

/// Coding of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// H.264 as an Annex B byte stream.
    H264,
    /// Motion JPEG: every frame is one JPEG image.
    Mjpeg,
    /// H.265 as an Annex B byte stream.
    H265,
    /// AV1: every frame is one temporal unit without its delimiter, and every OBU of it has its size.
    Av1,
}

/// Lengths of the sequence header OBU of AV1 in bytes, with its own header.
const AV1_PARAMETERS: std::ops::RangeInclusive<usize> = 3..=1024;

/// First byte of a sequence header OBU that has a size field and no extension.
const AV1_SEQUENCE_HEADER: u8 = 0x0a;

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
    /// H.264: SPS and PPS in Annex B with start codes. H.265: VPS, SPS and PPS in Annex B. AV1: the sequence header OBU
    /// with its size, 3 to 1024 bytes. Motion JPEG: empty.
    pub parameters: Vec<u8>,
}

impl Codec {
    /// The codec's name in logs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::Mjpeg => "mjpeg",
            Self::H265 => "h265",
            Self::Av1 => "av1",
        }
    }

    /// The codec's name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            Self::H264 => "H.264",
            Self::Mjpeg => "Motion JPEG",
            Self::H265 => "H.265",
            Self::Av1 => "AV1",
        }
    }

    /// True if frames depend on those before them, so that a viewer needs a keyframe first, and the parameters that
    /// come with it. Of other codecs every frame is a keyframe.
    pub fn predicts(self) -> bool {
        self != Self::Mjpeg
    }

    /// True if selections by content can find the parts of its frames (protocol.md §4, Selection). Of other codecs they
    /// encrypt whole frames.
    pub fn has_parts(self) -> bool {
        matches!(self, Self::H264 | Self::Mjpeg)
    }

    fn to_wire(self) -> u8 {
        match self {
            Self::H264 => 1,
            Self::Mjpeg => 2,
            Self::H265 => 3,
            Self::Av1 => 4,
        }
    }

    fn from_wire(codec: u8) -> Option<Self> {
        [Self::H264, Self::Mjpeg, Self::H265, Self::Av1]
            .into_iter()
            .find(|known| known.to_wire() == codec)
    }
}

impl StreamInfo {
    /// True if a stream like this can exist: width, height and the denominator of the rate are not 0, Motion JPEG has
    /// no parameters, those of H.264 and H.265 are at most 65 535 bytes, and those of AV1 begin as a sequence header
    /// and have 3 to 1024 bytes.
    pub fn is_valid(&self) -> bool {
        let parameters = match self.codec {
            Codec::H264 | Codec::H265 => self.parameters.len() <= usize::from(u16::MAX),
            Codec::Mjpeg => self.parameters.is_empty(),
            Codec::Av1 => {
                AV1_PARAMETERS.contains(&self.parameters.len()) && self.parameters.first() == Some(&AV1_SEQUENCE_HEADER)
            }
        };
        self.width > 0 && self.height > 0 && self.rate.denominator > 0 && parameters
    }

    /// Returns the payload of a codec-config record. Parameters longer than 65 535 bytes do not occur in practice and
    /// are truncated.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(15 + self.parameters.len());
        out.push(self.codec.to_wire());
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
    /// [`Malformed`]: wrong length, unknown codec, no pixels, a denominator of 0, or parameters that are not the
    /// codec's.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let codec = Codec::from_wire(reader.u8()?).ok_or(Malformed)?;
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
