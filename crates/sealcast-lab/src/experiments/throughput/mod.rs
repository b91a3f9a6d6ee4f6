//! Data carried per second of processor time: sessions compared with the bare carriers and with other programs.

pub(crate) mod bare;
mod carried;
mod carrier;
mod columns;
mod engine;
mod ours;
pub(crate) mod stunnel;
pub(crate) mod tunnel;

pub use carrier::Carrier;
pub(crate) use carrier::DATAGRAM;

use crate::harness::Experiment;

/// `sealcast-lab throughput`.
pub const THROUGHPUT: Experiment = Experiment {
    name: "throughput",
    definition: include_str!("../../../definitions/throughput.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: None,
};
