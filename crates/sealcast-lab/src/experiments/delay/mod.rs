//! Delay from the start of sending to reception: text, audio and video over UDP between two processes, with and
//! without ciphers. It repeats the experiment of a paper on ciphers for multimedia, whose curves show delay over the
//! number of packets sent.

mod ciphers;
mod columns;
mod ends;
mod engine;
mod packet;

pub use ciphers::check;
pub use ends::{DelayEnd, receive, send};
pub use packet::{Medium, NONE};

use crate::harness::Experiment;

/// `sealcast-lab delay`.
pub const DELAY: Experiment = Experiment {
    name: "delay",
    definition: include_str!("../../../definitions/delay.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
