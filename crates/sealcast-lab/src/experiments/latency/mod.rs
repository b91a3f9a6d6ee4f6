//! Video latency and network latency of a camera behind a pair of gateways, after Table 2 and Table 3 of paper 000, and
//! of a session with selective encryption, after Table 3 of paper 002.
//!
//! The camera is GStreamer's RTSP server with an encoder. The laboratory paints its pictures, with the time in each,
//! and `sealcast probe` reads that time from the decoded ones.

mod camera;
mod case;
mod columns;
mod engine;
mod gateways;
mod quota;
mod rows;

use crate::harness::Experiment;

/// `sealcast-lab latency`.
pub const LATENCY: Experiment = Experiment {
    name: "latency",
    definition: include_str!("../../../definitions/latency.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
