//! Attacks without keys on a stream that is encrypted in part: what they recognise, by scene and selection, and what
//! the selection saves.

mod columns;
mod engine;
mod figures;
mod page;
mod verdict;

pub(crate) use page::write as write_page;

use crate::harness::Experiment;

/// `sealcast-lab attack`.
pub const ATTACK: Experiment = Experiment {
    name: "attack",
    definition: include_str!("../../../definitions/attack.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: None,
};
