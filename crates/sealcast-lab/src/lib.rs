//! The laboratory. Commands and documents: `docs/lab.md`.
#![forbid(unsafe_code)]

mod awake;
pub mod ciphers;
pub mod cli;
pub mod delay;
pub mod facts;
pub mod gateway;
pub mod link;
pub mod net;
pub mod netem;
mod on_time;
mod page;
mod processor;
pub mod proxy;
mod statistics;
pub mod throughput;
pub mod verify;
