//! Costs of one camera with many viewers: handshakes and rekeys of small groups as in a paper, joins and leaves of up
//! to ten thousand viewers on a virtual clock, the same beside MLS, and sealing and signing frames for all of them.

pub(crate) mod cast;
mod columns;
mod engine;
mod keys;
mod media;
mod sim;
mod small;

use crate::harness::Experiment;

pub use sim::CHECK_FAILED;

/// `sealcast-lab groups`.
pub const GROUPS: Experiment = Experiment {
    name: "groups",
    definition: include_str!("../../../definitions/groups.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: None,
};
