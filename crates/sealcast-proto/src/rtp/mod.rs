//! RTP as cameras send it (RFC 3550): packets of a track in their order, and put together into pictures and sound.
//!
//! A [`MediaDescription`] says which formats a track has. Packets of one track go through a [`Receiver`], which hands
//! them out in order and once, into a [`Depacketizer`], which makes [`Unit`]s of them. All of it takes any bytes: what
//! is malformed is counted and skipped, and all that a camera can make grow is bounded before it grows, by the
//! table in `bounds.rs`.

mod aac;
mod access_unit;
#[cfg(test)]
mod any_bytes_tests;
mod bounds;
mod clock;
mod depacketizer;
mod format;
mod h264;
#[cfg(test)]
mod h264_tests;
mod h265;
#[cfg(test)]
mod h265_tests;
mod jpeg;
mod jpeg_head;
mod jpeg_quantization;
mod jpeg_tables;
#[cfg(test)]
mod jpeg_tests;
mod markers;
mod media;
mod packet;
pub mod packetize;
mod parameter_sets;
mod ready_sound;
mod receive;
mod sequence;
mod sound;
#[cfg(test)]
mod tests;

pub use bounds::{MAX_FORMATS, MAX_PATIENCE, MAX_PICTURE, MAX_PIECES, MAX_WAITING, MAX_WAITING_BYTES};
pub use clock::{Extended, SenderReport, Side, SoundClock, nanos, sender_reports};
pub use depacketizer::Depacketizer;
pub use format::Format;
pub use h264::H264;
pub use h265::H265;
pub use jpeg::Jpeg;
pub use jpeg_tables::HUFFMAN_TABLES;
pub(crate) use media::lines;
pub use media::{MediaDescription, MediaKind, Medium};
pub use packet::RtpPacket;
use parameter_sets::parameter_sets;
pub use receive::{ReceiveCounts, Receiver, Way};
pub use sequence::{Discipline, Label, Ordered, Sequence, SequenceCounts};
pub use sound::SoundDepacketizer;

/// A whole picture or packet of sound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Time in ticks of the format's clock, which wraps.
    pub timestamp: u32,
    /// True if something before it, or of it, is missing.
    pub lost: bool,
    /// H.264 and H.265: an access unit in Annex B, with the parameter sets that came in it, in their order. JPEG: the
    /// image. Sound: the payload of one packet as a decoder takes it.
    pub data: Vec<u8>,
}

/// Packets and pictures that were left out since the last call, and the last reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Pictures, or packets of sound, of which at least one part was left out.
    pub units: u64,
    /// Reason for the last of them, in words that follow "its stream": `has fragments without a beginning`.
    pub reason: Option<&'static str>,
}
