//! The highest frame rate that a cipher sustains: raw frames, with and without an image filter before it, at a rate
//! that rises until frames are late.

mod browse;
mod filter;
mod pipeline;
mod plan;
mod record;
mod search;
mod table;

pub use pipeline::Sink;
pub use plan::{LoadOptions, measure};
pub use record::{LoadRecord, write};
pub use table::terminal;
