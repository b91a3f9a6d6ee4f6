//! Measurements of a stream's cost: stage times, counters, CPU, memory, temperature, energy, and the files that store
//! them.

pub mod build_info;
mod camera;
mod counted;
mod data;
mod delivery;
mod exposition;
mod families;
mod group;
pub mod labels;
mod log_rows;
pub mod logs;
pub mod metrics;
pub mod paired;
pub mod peer_bytes;
pub mod power;
pub mod probe_rows;
mod program;
pub mod report;
pub mod resources;
pub mod serve;
pub mod shape;
mod signatures;
pub mod stage;
pub mod statistics;
pub mod telling;
mod totals;
mod turned_away;
pub mod url;
