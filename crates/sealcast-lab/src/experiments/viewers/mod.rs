//! Cost of each further viewer to the publisher: the real program with a group, without one, and a plain fan-out of the
//! same frames. And the time that a real relay between them costs.

mod audience;
mod columns;
mod count;
mod datagrams;
mod engine;
mod plain;
mod publisher;
mod relay;
mod stamped;

pub(crate) use count::count;
pub use plain::fan_out;

use crate::harness::Experiment;

/// `sealcast-lab viewers`.
pub const VIEWERS: Experiment = Experiment {
    name: "viewers",
    definition: include_str!("../../../definitions/viewers.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: None,
};
