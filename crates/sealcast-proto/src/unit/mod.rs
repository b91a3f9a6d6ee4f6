//! What is sealed at once: frames with their preamble, and the description of their stream (protocol.md §5).

mod assemble;
mod header;
mod info;
mod preamble;

pub(crate) use assemble::FrameOrder;
pub use assemble::{Assembled, AssembledFrame, Assembler};
pub use header::{UNIT_HEADER_LEN, UnitHeader};
pub use info::{Codec, FrameRate, StreamInfo};
pub use preamble::{PREAMBLE_LEN, Preamble};

/// Longest frame in bytes (16 MiB).
pub const MAX_FRAME: usize = 16 << 20;
