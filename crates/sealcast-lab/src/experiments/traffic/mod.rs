//! Knowledge that an eavesdropper gains from sizes and times of a sealed stream, and the cost of hiding it.

mod case;
mod columns;
mod engine;
mod scene;
mod scores;

use crate::harness::Experiment;

/// `sealcast-lab traffic`.
pub const TRAFFIC: Experiment = Experiment {
    name: "traffic",
    definition: include_str!("../../../definitions/traffic.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: None,
};
