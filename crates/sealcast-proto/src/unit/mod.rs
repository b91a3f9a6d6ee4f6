//! The content of media records: frames with their preamble, cut into units; the description of their stream
//! (protocol.md §5); and the selection of what is encrypted (§4, Selection).

mod annexb;
mod arrival;
mod assemble;
mod assembled;
mod codec_headers;
mod cut;
mod draw;
mod frame_order;
pub mod h264;
mod info;
mod jpeg;
mod jpeg_split;
mod pad;
mod planner;
#[cfg(test)]
mod planner_tests;
mod preamble;
mod select;
mod sound;
pub mod sound_headers;
mod unit_header;

pub use annexb::{find_start_code, nal_units};
pub use arrival::{MAX_UNITS_TOLD, UnitArrival};
pub(crate) use assemble::Assembler;
pub use assembled::{Assembled, AssembledFrame};
pub(crate) use cut::cut_padded;
pub use cut::{Cutter, NoUnit, Piece, Pieces, Room, Unit};
pub(crate) use frame_order::FrameOrder;
pub use info::{Codec, FrameRate, StreamInfo};
pub use jpeg::{JpegPart, JpegWalker, NotJpeg};
pub use jpeg_split::{MAX_LAST, NotSplit, SplitFrame, Splitter, join};
pub use pad::Pad;
pub use planner::{Planner, Unsplit, UnsplitReason};
pub use preamble::{Layout, PREAMBLE_LEN, Preamble, StampKind};
pub use select::{NoSelection, PlannedRange};
pub use sound::{Description, PICTURE_STREAM, SOUND_STREAM, SoundCodec, SoundInfo};
pub use unit_header::{UNIT_HEADER_LEN, UnitHeader};

pub use crate::wire::{Level, Permille, Selection};

/// Longest frame in bytes (16 MiB).
pub const MAX_FRAME: usize = 16 << 20;
