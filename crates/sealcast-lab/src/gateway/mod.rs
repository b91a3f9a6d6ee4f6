//! What a pair of gateways adds to RTP packets, in delay and in processor time, beside a plain relay of the same two
//! hops and beside what else somebody would take. All of it on loopback, in turns.
//!
//! Cameras and players are threads of this process. They share its monotonic clock, so that a packet that says when it
//! left tells how long it was under way.

mod browse;
mod camera;
mod course;
mod drive;
mod figures;
mod load;
mod packet;
mod pair;
pub(crate) mod plan;
mod player;
pub(crate) mod plot;
mod record;
mod relay;
mod rtsps;
pub(crate) mod system;
mod table;

pub use figures::{Figures, Sample};
pub use load::{LOADS, Load};
pub use plan::{GatewayOptions, GatewayResult, measure};
pub use record::write;
pub use relay::relay;
pub use system::{Gateways, System};
pub use table::{terminal, verdicts};
