//! Constant traffic: at every tick the same number of records of the same size, whatever happens before the camera
//! (protocol.md §10).
//!
//! [`ShapePlan`] says what both ends send, `CellWriter` fills an end's cells and knows when they are due, and
//! `CellReader` takes records out of the peer's cells again. `cells` joins them to the session.

mod cells;
mod plan;
mod reader;
mod shaped;
#[cfg(test)]
mod tests;
mod writer;

pub use self::plan::{RATES, ShapePlan};
pub(super) use self::shaped::Shaped;
pub use self::writer::ShapeCounts;
