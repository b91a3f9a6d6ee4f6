//! What share of frames is in time over a link that loses packets: sealcast with and without each of its repairs, SRT
//! and plain RTP, all with the same frames over the same link.
//!
//! One run is one system at one point. Both its ends are processes of their own (`sealcast-lab link-send` and
//! `link-receive`), each in its network namespace. They stamp frames with the monotonic clock, which namespaces share.

mod bench;
mod bootstrap;
mod browse;
pub(crate) mod ends;
mod figures;
pub(crate) mod load;
mod packets;
mod plan;
mod plot;
pub(crate) mod program;
mod record;
mod system;
mod table;

pub use ends::{EndConfig, receive, send};
pub use figures::{Figures, Share};
pub use plan::{LinkOptions, LinkResult, measure};
pub use record::write;
pub use system::{ONE_WAY, Point, System};
pub use table::{terminal, verdicts};

/// The viewer's budget, for all systems.
pub const BUDGET: std::time::Duration = std::time::Duration::from_millis(120);
