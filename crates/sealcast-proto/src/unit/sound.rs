//! The description of sound, which a viewer needs before its first packet (protocol.md §5, Sound).

use super::StreamInfo;
use crate::wire::{Malformed, Reader, put_bytes16};

/// The media stream of the picture, where the session carries one camera.
pub const PICTURE_STREAM: u32 = 1;
/// The media stream of sound, where the session carries the picture of one camera.
pub const SOUND_STREAM: u32 = 2;

/// Most channels.
const MAX_CHANNELS: u16 = 8;
/// Samples a second of each channel.
const SAMPLE_RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;
/// Lengths of an AudioSpecificConfig in bytes.
const AAC_PARAMETERS: std::ops::RangeInclusive<usize> = 2..=256;
/// Length of an OpusHead of mapping family 0, without its magic.
const OPUS_HEAD: usize = 11;
/// Samples a second of Opus, whatever was recorded.
const OPUS_RATE: u32 = 48_000;

/// Coding of sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SoundCodec {
    /// AAC: each packet is an access unit without ADTS.
    Aac,
    /// Opus.
    Opus,
    /// G.711 µ-law: a packet is 8 bits for each sample of each channel, interleaved.
    Ulaw,
    /// G.711 A-law.
    Alaw,
}

impl SoundCodec {
    /// The codec's name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aac => "aac",
            Self::Opus => "opus",
            Self::Ulaw => "pcmu",
            Self::Alaw => "pcma",
        }
    }

    fn to_wire(self) -> u8 {
        match self {
            Self::Aac => 16,
            Self::Opus => 17,
            Self::Ulaw => 18,
            Self::Alaw => 19,
        }
    }

    fn from_wire(codec: u8) -> Option<Self> {
        [Self::Aac, Self::Opus, Self::Ulaw, Self::Alaw]
            .into_iter()
            .find(|known| known.to_wire() == codec)
    }
}

/// Description of sound: the content of a codec-config record of [`SOUND_STREAM`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoundInfo {
    /// Coding of the packets.
    pub codec: SoundCodec,
    /// Channels, 1 to 8.
    pub channels: u16,
    /// Samples a second of each channel, 8 000 to 192 000; for Opus always 48 000.
    pub samples_per_second: u32,
    /// Samples of each channel in a packet; 0 if it is not the same in all. It is a hint.
    pub samples_per_frame: u32,
    /// AAC: AudioSpecificConfig (ISO/IEC 14496-3), 2 to 256 bytes. Opus: OpusHead (RFC 7845, section 5.1) without its
    /// magic, of mapping family 0 or 1. G.711: empty.
    pub parameters: Vec<u8>,
}

impl SoundInfo {
    /// True if there can be sound like this: all fields are in their ranges, and the parameters are the codec's.
    pub fn is_valid(&self) -> bool {
        let parameters = match self.codec {
            SoundCodec::Aac => AAC_PARAMETERS.contains(&self.parameters.len()),
            SoundCodec::Opus => self.samples_per_second == OPUS_RATE && self.has_opus_head(),
            SoundCodec::Ulaw | SoundCodec::Alaw => self.parameters.is_empty(),
        };
        (1..=MAX_CHANNELS).contains(&self.channels) && SAMPLE_RATES.contains(&self.samples_per_second) && parameters
    }

    /// True if the parameters are an OpusHead of as many channels.
    fn has_opus_head(&self) -> bool {
        let [version, channels, _, _, _, _, _, _, _, _, family, mapping @ ..] = &self.parameters[..] else {
            return false;
        };
        let mapped = match family {
            0 => self.channels <= 2 && mapping.is_empty(),
            1 => self.parameters.len() == OPUS_HEAD + 2 + usize::from(self.channels),
            _ => false,
        };
        *version == 1 && u16::from(*channels) == self.channels && mapped
    }

    /// Returns the payload of a codec-config record. Parameters longer than 65 535 bytes, which no valid description
    /// has, are truncated.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(15 + self.parameters.len());
        out.push(self.codec.to_wire());
        out.extend_from_slice(&self.channels.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.samples_per_second.to_be_bytes());
        out.extend_from_slice(&self.samples_per_frame.to_be_bytes());
        put_bytes16(
            &mut out,
            &self.parameters[..self.parameters.len().min(usize::from(u16::MAX))],
        );
        out
    }

    /// Parses the payload of a codec-config record of sound.
    ///
    /// # Errors
    /// [`Malformed`]: wrong length, a codec that is none of sound, a field out of its range, or parameters that are not
    /// the codec's.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let codec = SoundCodec::from_wire(reader.u8()?).ok_or(Malformed)?;
        let (channels, reserved) = (reader.u16()?, reader.u16()?);
        let (samples_per_second, samples_per_frame) = (reader.u32()?, reader.u32()?);
        let parameters = reader.bytes16()?.to_vec();
        reader.finish()?;
        let info = Self {
            codec,
            channels,
            samples_per_second,
            samples_per_frame,
            parameters,
        };
        if reserved == 0 && info.is_valid() {
            Ok(info)
        } else {
            Err(Malformed)
        }
    }
}

/// Content of the codec-config records of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Description {
    /// The picture is like this.
    Picture(StreamInfo),
    /// The sound is like this.
    Sound(SoundInfo),
}

impl Description {
    /// Parses the payload of a codec-config record of this stream.
    ///
    /// # Errors
    /// [`Malformed`]: as [`StreamInfo::parse`] and [`SoundInfo::parse`]; also a description of sound on another stream
    /// than [`SOUND_STREAM`], or one of a picture there.
    pub fn parse(stream: u32, payload: &[u8]) -> Result<Self, Malformed> {
        if stream == SOUND_STREAM {
            SoundInfo::parse(payload).map(Self::Sound)
        } else {
            StreamInfo::parse(payload).map(Self::Picture)
        }
    }
}
