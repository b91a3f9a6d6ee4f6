//! Glass to glass in software: the latency from painting a picture until it is decoded, of sealcast and of other
//! programs that carry live video, with the same pictures and the same settings of the encoder.
//!
//! The other programs take pictures from a pipe and give them back through another one. What these pipes take is
//! measured as a system of its own and deducted.

mod circumstances;
mod columns;
mod commands;
mod engine;
mod figures;
mod painter;
mod pictures;
mod pipes;
mod reader;
mod sealcast_pair;

pub(crate) use painter::Painter;
pub(crate) use pictures::Pictures;

use crate::harness::Experiment;

/// `sealcast-lab glass`.
pub const GLASS: Experiment = Experiment {
    name: "glass",
    definition: include_str!("../../../definitions/glass.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
