//! The parser of H.264 slices and the levels that are planned by it, on streams of x264. What ffmpeg says of each
//! macroblock is beside them.

mod hostile;
mod levels;
mod parser;

use sealcast_proto::unit::find_start_code;
use sealcast_proto::unit::h264::{Macroblock, ParameterSets, Refusal, SliceHeader, SliceParser};

/// A stream in this test's folder.
macro_rules! stream {
    ($name:literal) => {
        (
            $name,
            include_bytes!(concat!("streams/", $name, ".h264")).as_slice(),
            include_str!(concat!("streams/", $name, ".types")),
        )
    };
}

/// Name, bytes and ffmpeg's macroblock types of the streams that can be split.
pub const STREAMS: [(&str, &[u8], &str); 7] = [
    stream!("baseline"),
    stream!("slices"),
    stream!("bframes"),
    stream!("high"),
    stream!("pcm"),
    stream!("noise"),
    stream!("grey"),
];

/// Streams that cannot, and why.
pub const REFUSED: [(&[u8], Refusal); 2] = [
    (include_bytes!("streams/cabac.h264"), Refusal::Cabac),
    (include_bytes!("streams/interlaced.h264"), Refusal::Interlaced),
];

/// The NAL units of a stream, without start codes, and where they begin.
pub fn units(stream: &[u8]) -> Vec<(usize, &[u8])> {
    let mut out = Vec::new();
    let mut unit = find_start_code(stream, 0);
    while let Some(code) = unit {
        let next = find_start_code(stream, code + 3);
        let end = next.map_or(stream.len(), |next| next - usize::from(stream[next - 1] == 0));
        out.push((code + 3, &stream[code + 3..end]));
        unit = next;
    }
    out
}

/// True if a NAL unit is a slice.
pub fn is_slice(unit: &[u8]) -> bool {
    matches!(unit[0] & 0x1F, 1 | 5)
}

/// A parsed slice: its header or why it was refused, and its macroblocks.
pub type Parsed = (Result<SliceHeader, Refusal>, Vec<Macroblock>);

/// Parses all slices of a stream.
pub fn parse(stream: &[u8]) -> (ParameterSets, Vec<Parsed>) {
    let (mut sets, mut parser) = (ParameterSets::default(), SliceParser::default());
    let mut out = Vec::new();
    for (_, unit) in units(stream) {
        sets.take(unit);
        if is_slice(unit) {
            let mut macroblocks = Vec::new();
            let header = parser.parse(unit, &sets, &mut macroblocks);
            out.push((header, macroblocks));
        }
    }
    (sets, out)
}
