//! The transport stream of MPEG (ISO/IEC 13818-1): packets of 188 bytes, which carry one program.
//!
//! [`TsWriter`] makes one, [`TsReader`] reads one.

mod pieces;
mod reader;
mod sections;
mod sound;
mod tables;
mod writer;

pub use reader::TsReader;
pub use tables::Sounds;
pub use writer::TsWriter;

use std::time::Duration;

use crate::unit::Codec;

/// Length of a packet in bytes.
pub const TS_PACKET: usize = 188;
/// First byte of a packet.
pub const TS_SYNC: u8 = 0x47;

/// Ticks a second of the clock of pictures and sound.
const CLOCK: u64 = 90_000;
/// Bits of a time. They wrap after 26 hours.
const TIME_BITS: u32 = 33;

/// Bytes of the header of a packet.
const HEADER: usize = 4;
/// The packets of the table that names programs.
const PAT_PID: u16 = 0;

/// Types of streams in the table of a program.
mod stream_type {
    pub(super) const PRIVATE: u8 = 0x06;
    pub(super) const ADTS: u8 = 0x0f;
    pub(super) const H264: u8 = 0x1b;
    pub(super) const H265: u8 = 0x24;
}

/// The stream type of pictures; `None` of those for which there is none that readers agree on.
fn picture_type(codec: Codec) -> Option<u8> {
    match codec {
        Codec::H264 => Some(stream_type::H264),
        Codec::H265 => Some(stream_type::H265),
        Codec::Av1 | Codec::Mjpeg => None,
    }
}

/// A time in ticks of the clock of 90 kHz, rounded.
pub fn ts_ticks(time: Duration) -> u64 {
    let ticks = (time.as_nanos() * u128::from(CLOCK) + 500_000_000) / 1_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}
