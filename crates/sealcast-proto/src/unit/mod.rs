//! What is sealed at once: frames with their preamble, and the description of their stream (protocol.md §5).

mod assemble;
mod info;
mod preamble;

pub use assemble::{Assembled, AssembledFrame, Assembler};
pub use info::{Codec, FrameRate, StreamInfo};
pub use preamble::{PREAMBLE_LEN, Preamble};

/// Longest frame in bytes (16 MiB).
pub const MAX_FRAME: usize = 16 << 20;
