//! Depacketizers of pictures, of whichever codec.

use super::{Damage, Format, H264, H265, Jpeg, RtpPacket, Unit};

/// Puts the pictures of one track together. All that is complete is polled after each packet.
#[derive(Debug)]
pub enum Depacketizer {
    /// H.264 (RFC 6184).
    H264(Box<H264>),
    /// H.265 (RFC 7798).
    H265(Box<H265>),
    /// Motion JPEG (RFC 2435).
    Jpeg(Box<Jpeg>),
}

impl Depacketizer {
    /// For a track of this format; `size` is that of pictures by its description. `None` for another encoding.
    pub fn of(format: &Format, size: Option<(u16, u16)>) -> Option<Self> {
        match format.encoding.as_str() {
            "h264" => Some(Self::H264(Box::new(H264::new(format)))),
            "h265" | "hevc" => Some(Self::H265(Box::new(H265::new(format)))),
            "jpeg" => Some(Self::Jpeg(Box::new(Jpeg::new(size)))),
            _ => None,
        }
    }

    /// The parameter sets of the description, without start codes.
    pub fn parameter_sets(&self) -> &[Vec<u8>] {
        match self {
            Self::H264(depacketizer) => depacketizer.parameter_sets(),
            Self::H265(depacketizer) => depacketizer.parameter_sets(),
            Self::Jpeg(_) => &[],
        }
    }

    /// Takes the next packet in order. `lost` is true if packets before it are missing.
    pub fn push(&mut self, packet: &RtpPacket<'_>, lost: bool) {
        match self {
            Self::H264(depacketizer) => depacketizer.push(packet, lost),
            Self::H265(depacketizer) => depacketizer.push(packet, lost),
            Self::Jpeg(depacketizer) => depacketizer.push(packet, lost),
        }
    }

    /// Returns the next whole picture.
    pub fn poll(&mut self) -> Option<Unit> {
        match self {
            Self::H264(depacketizer) => depacketizer.poll(),
            Self::H265(depacketizer) => depacketizer.poll(),
            Self::Jpeg(depacketizer) => depacketizer.poll(),
        }
    }

    /// Returns what was left out since the last call.
    pub fn take_damage(&mut self) -> Damage {
        match self {
            Self::H264(depacketizer) => depacketizer.take_damage(),
            Self::H265(depacketizer) => depacketizer.take_damage(),
            Self::Jpeg(depacketizer) => depacketizer.take_damage(),
        }
    }
}
