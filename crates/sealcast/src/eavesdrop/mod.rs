//! Eavesdropping on a session without any of its keys: headers, sizes and times of all records, and the payload of
//! those in clear; and what can be shown of it frame by frame. The laboratory's attackers work on it, and the demo
//! shows it.

mod h264_writer;
mod image_guess;
mod live;
mod overheard;
mod partial;
mod slice_guess;
mod slice_search;
#[cfg(test)]
mod tests;
mod wiretap;

pub use image_guess::{ImageGuess, scan_start};
pub use live::LiveAttack;
pub use overheard::Overheard;
pub use partial::{FrameGatherer, Gathered, MAX_PARTS, Part, PartialFrame};
pub use slice_guess::SliceGuess;
pub use slice_search::{Decoder, FoundSlice, SliceSearch};
pub use wiretap::{Carriage, Seen, SeenMedia, SeenRecord, Wiretap};

/// Luma of mid-grey, which an attacker shows who knows nothing.
pub const GREY_LUMA: u8 = 126;
