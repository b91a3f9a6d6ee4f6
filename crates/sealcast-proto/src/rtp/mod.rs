//! RTP as cameras send it (RFC 3550): packets of a track in their order, and put together into pictures and sound.
//!
//! A [`MediaDescription`] says which formats a track has. Packets of one track go through a [`Receiver`], which hands
//! them out in order and once, into a [`Depacketizer`], which makes [`Unit`]s of them. All of it takes any bytes: what
//! is malformed is counted and skipped, and all that a camera can make grow is bounded before it grows.

mod aac;
mod access_unit;
mod clock;
mod depacketizer;
mod h264;
mod h265;
mod jpeg;
mod jpeg_tables;
mod media;
mod packet;
mod receive;
mod sequence;
mod sound;

pub use clock::{Extended, SenderReport, Side, SoundClock, nanos, sender_reports};
use data_encoding::BASE64_NOPAD;
pub use depacketizer::Depacketizer;
pub use h264::H264;
pub use h265::H265;
pub use jpeg::Jpeg;
pub use jpeg_tables::HUFFMAN_TABLES;
pub(crate) use media::lines;
pub use media::{MAX_FORMATS, MediaDescription, MediaKind, Medium};
pub use packet::RtpPacket;
pub use receive::{ReceiveCounts, Receiver, Way};
pub use sequence::{Discipline, Label, MAX_PATIENCE, MAX_WAITING, Ordered, Sequence, SequenceCounts};
pub use sound::SoundDepacketizer;

pub use crate::unit::MAX_FRAME;
use crate::unit::find_start_code;

/// Most parameter sets of a description.
const MAX_SETS: usize = 64;
/// Most pieces (NAL units, fragments) of one picture.
pub const MAX_PIECES: usize = 4096;

/// One format of a track, from its `m=` line and the attributes for its payload type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Payload type.
    pub payload_type: u8,
    /// Name of the encoding in lower case: `h264`, `mpeg4-generic`; empty if nothing names it.
    pub encoding: String,
    /// Ticks a second of the timestamps; never 0.
    pub clock_rate: u32,
    /// Channels of sound; 1 if nothing is said.
    pub channels: u8,
    /// Value of `a=fmtp:` behind the payload type; empty if there is none.
    pub parameters: String,
}

impl Format {
    /// Value of a parameter of `a=fmtp:`, whose name is compared without case.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.split(';').find_map(|parameter| {
            let (found, value) = parameter.split_once('=')?;
            found.trim().eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// The NAL units in Base64 lists of these parameters, in their order. What is no Base64 is left out, and so are start
/// codes, which some cameras put into them.
fn parameter_sets(format: &Format, names: &[&str]) -> Vec<Vec<u8>> {
    let lists = names.iter().filter_map(|name| format.parameter(name));
    let words = lists.flat_map(|list| list.split(','));
    let texts = words.filter_map(|word| BASE64_NOPAD.decode(word.trim().trim_end_matches('=').as_bytes()).ok());
    let units = texts.flat_map(|text| {
        let mut units = Vec::new();
        let mut rest = &text[..];
        while let Some(at) = find_start_code(rest, 0) {
            units.push(rest[..at].to_vec());
            rest = &rest[at + 3..];
        }
        units.push(rest.to_vec());
        units
    });
    units
        .filter(|unit| unit.iter().any(|byte| *byte != 0))
        .take(MAX_SETS)
        .collect()
}

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
