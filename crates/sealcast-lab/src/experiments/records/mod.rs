//! Sealing and opening records: the benchmark of the record layer, of several builds in turn.

mod columns;
mod engine;

use crate::harness::Experiment;

/// `sealcast-lab records`.
pub const RECORDS: Experiment = Experiment {
    name: "records",
    definition: include_str!("../../../definitions/records.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: None,
};
