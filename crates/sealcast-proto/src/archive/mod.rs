//! Archives: segments of sealed records as they came, the keys that open them sealed for the archive's recipients, and
//! what shows that nothing was altered, moved or taken away (`docs/archive.md`).

mod block;
mod contents;
mod gather;
mod player;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub use block::{BLOCK_OVERHEAD, MAX_BLOCK};
pub use contents::{ARCHIVE_ID_LEN, End, EndCause, FrameBlock, Head, MAX_KEY_FILE};
pub use gather::{Gather, Gathered};
pub use player::{Opened, Player, Proof, Unplayable};
pub use segment::{Block, Fault, MAX_SEGMENT, Segment};
pub use writer::{
    SegmentKey, SegmentStart, SegmentWriter, key_from_bytes, key_to_bytes, keys_from_bytes, keys_to_bytes,
};
