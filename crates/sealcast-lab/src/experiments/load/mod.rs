//! The highest frame rate that a cipher sustains: raw frames, with and without an image filter before it, at a rate
//! that rises until frames are late.

mod choice;
mod columns;
mod engine;
mod filter;
mod pipeline;
mod search;

pub use choice::NONE;
pub use pipeline::Sink;

use crate::harness::Experiment;

/// `sealcast-lab load`.
pub const LOAD: Experiment = Experiment {
    name: "load",
    definition: include_str!("../../../definitions/load.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: Some(choice::complete),
};
