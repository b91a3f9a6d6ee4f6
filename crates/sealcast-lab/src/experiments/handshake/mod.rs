//! Costs of agreeing on keys: handshakes of the program's sessions with each key mechanism, in memory and over TCP.

mod columns;
pub(super) mod ends;
mod engine;
mod figures;
mod tcp;

use crate::harness::Experiment;

/// `sealcast-lab handshake`.
pub const HANDSHAKE: Experiment = Experiment {
    name: "handshake",
    definition: include_str!("../../../definitions/handshake.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
