//! Sessions of which a share of the packets is encrypted, after Tables 1 and 2 and Figure 5 of paper 002: time to
//! encrypt and to decrypt, memory and CPU, by length of key and share.
//!
//! Each session has two processes of its own, a sending and a receiving end, which use the program's own drawing,
//! sealing and opening.

mod columns;
mod ends;
mod engine;
mod figures;
mod packets;
mod session;
mod usage;

pub use ends::{receive, send};
pub use session::Session;

use crate::harness::Experiment;

/// `sealcast-lab selective`.
pub const SELECTIVE: Experiment = Experiment {
    name: "selective",
    definition: include_str!("../../../definitions/selective.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: None,
};
