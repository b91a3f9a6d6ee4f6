//! Cost of ciphers on packets and on frames of video: our ciphers, in all their kernels, compared with those of
//! libraries.
//!
//! A system is an implementation; a case is a load, or the costs before the first byte. An implementation that does not
//! reproduce published values is reported as wrong and not timed.

mod alone;
mod case;
mod columns;
mod engine;
mod measure;
mod papers;
mod sample;
mod workload;

pub use alone::{Answer, Question, answer};
pub(in crate::experiments) use workload::{card, pictures};

use crate::ciphers::choice;
use crate::harness::Experiment;

/// `sealcast-lab ciphers`.
pub const CIPHERS: Experiment = Experiment {
    name: "ciphers",
    definition: include_str!("../../../definitions/ciphers.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: |_| Vec::new(),
    complete: Some(|definition, _| choice::complete(definition)),
};
