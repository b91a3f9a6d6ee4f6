//! A simulated world for tests and fuzzing: mechanisms without security and a virtual clock between two sessions.

mod mechanism;
mod world;

pub use mechanism::InsecureMechanism;
pub use world::{Direction, Verdict, World};
