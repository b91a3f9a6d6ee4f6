//! What somebody on the path learns from a session without any of its keys: headers, sizes and times of all records,
//! and the payload of those in clear. The laboratory's attackers work on it.

mod overheard;
mod partial;
#[cfg(test)]
mod tests;
mod wiretap;

pub use overheard::Overheard;
pub use partial::{FrameGatherer, Gathered, MAX_PARTS, Part, PartialFrame};
pub use wiretap::{Carriage, Seen, SeenMedia, SeenRecord, Wiretap};
