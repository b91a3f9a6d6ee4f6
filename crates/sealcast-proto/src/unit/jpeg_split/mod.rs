//! Splits the entropy-coded data of a JPEG image into the codes of the first coefficients of each block and those of
//! the others, and joins them again bit by bit (protocol.md §5, layout 1). So the first ones, DC and low AC, can be
//! encrypted without the rest.
//!
//! An image that is not as described here is refused, and its frame is encrypted whole: one scan with all components,
//! baseline or extended sequential with Huffman codes (ITU-T T.81, processes 1 and 2), padding bits that are ones.

mod bits;
mod huffman;
mod join;
mod not_split;
mod scan;
mod split;

pub use join::join;
pub use not_split::NotSplit;
pub use split::{SplitFrame, Splitter};

/// Highest index of a coefficient that can go into the first part: at least one stays for the other.
pub const MAX_LAST: u8 = 62;

/// Bytes before the parts of a split frame: the last index, and three lengths.
const PREFIX: usize = 13;
