//! The laboratory. Commands and documents: `docs/lab.md`.
#![forbid(unsafe_code)]

pub mod cli;
pub mod facts;
pub mod link;
pub mod net;
pub mod netem;
pub mod proxy;
pub mod throughput;
