//! Data carried per second of processor time: sessions compared with the bare carriers and with other programs.

mod bare;
mod carried;
mod columns;
mod engine;
mod ours;
pub(crate) mod stunnel;
pub(crate) mod tunnel;

use std::fmt;

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

/// Bytes of every datagram, its own headers included.
pub(crate) const DATAGRAM: usize = 1200;

/// The transport below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Datagrams of 1200 bytes.
    Udp,
    /// A byte stream.
    Tcp,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        })
    }
}
