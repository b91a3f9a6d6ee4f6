//! Delay and processor time that a pair of gateways adds to RTP packets, compared with a plain relay over the same
//! two hops and with other programs for this purpose. Everything runs on loopback, in turns.
//!
//! Cameras and players are threads of this process. They share its monotonic clock, so that the send time in a packet
//! gives its delay.

mod camera;
mod columns;
mod count;
mod engine;
mod load;
mod mediamtx;
mod packet;
mod pair;
mod paths;
mod player;
mod relay;
mod rtsps;
mod system;
mod traffic;

pub(crate) use count::count;
pub(crate) use pair::free_port;
pub(crate) use player::connect;
pub use relay::relay;
pub(crate) use rtsps::python;

use crate::harness::Experiment;

/// `sealcast-lab gateway`.
pub const GATEWAY: Experiment = Experiment {
    name: "gateway",
    definition: include_str!("../../../definitions/gateway.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
