//! Share of frames in time over a link that loses packets: sealcast with and without each of its repairs, SRT and
//! plain RTP, all with the same frames over the same link.
//!
//! One run is one system in one case. Both ends are processes of their own (`sealcast-lab link-send` and
//! `link-receive`), each in its network namespace. They stamp frames with the monotonic clock, which namespaces
//! share.

mod bench;
mod case;
mod columns;
pub(crate) mod ends;
mod engine;
mod figures;
pub(crate) mod load;
mod packets;
mod system;

pub use ends::{EndConfig, receive, send};
pub use system::{BUDGET, Carrier, System};

use crate::harness::Experiment;

/// `sealcast-lab link`.
pub const LINK: Experiment = Experiment {
    name: "link",
    definition: include_str!("../../../definitions/link.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
