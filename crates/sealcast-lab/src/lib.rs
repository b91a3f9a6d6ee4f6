//! The laboratory. Commands and documents: `docs/lab.md`.
#![forbid(unsafe_code)]

pub(crate) mod attack;
mod board;
pub mod ciphers;
pub mod cli;
mod count;
pub mod experiments;
pub mod harness;
pub mod net;
pub mod netem;
mod papers;
pub mod proxy;
pub mod report;
pub mod restorer;
pub mod traffic;
pub mod verify;
