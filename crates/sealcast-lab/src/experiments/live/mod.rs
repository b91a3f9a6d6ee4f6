//! The same live stream under each suite: a real `publish` and a real `watch`, on loopback and over links.

mod columns;
mod engine;
mod figures;

use crate::harness::Experiment;

/// `sealcast-lab live`.
pub const LIVE: Experiment = Experiment {
    name: "live",
    definition: include_str!("../../../definitions/live.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
