//! A stream as Briano, Gaon, Ortiz and Hein measured it between two Raspberry Pis: one `publish` and one `watch` with
//! their logs, condensed as `sealcast-lab report` does.

mod columns;
mod engine;

use crate::harness::Experiment;

/// `sealcast-lab pipeline`.
pub const PIPELINE: Experiment = Experiment {
    name: "pipeline",
    definition: include_str!("../../../definitions/pipeline.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
