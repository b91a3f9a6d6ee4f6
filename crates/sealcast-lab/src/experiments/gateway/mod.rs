//! What a pair of gateways adds to RTP packets, in delay and in processor time, beside a plain relay of the same two
//! hops and beside what else somebody would take. All of it on loopback, in turns.
//!
//! Cameras and players are threads of this process. They share its monotonic clock, so that a packet that says when it
//! left tells how long it was under way.

mod camera;
mod columns;
mod course;
mod drive;
mod engine;
mod load;
mod packet;
mod pair;
mod player;
mod relay;
mod rtsps;
mod system;

pub use relay::relay;

use crate::harness::Experiment;

/// `sealcast-lab gateway`.
pub const GATEWAY: Experiment = Experiment {
    name: "gateway",
    definition: include_str!("../../../definitions/gateway.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
};
