//! Simulation for tests, experiments and fuzzing: mechanisms without security, two sessions on a virtual clock, and
//! links that lose, delay and corrupt packets.

mod link;
mod mechanism;
mod profile;
mod profile_text;
mod random;
mod world;

pub use link::{Link, LinkCounts, MAX_IN_FLIGHT, MAX_IN_FLIGHT_BYTES};
pub use mechanism::InsecureMechanism;
pub use profile::{DEFAULT_QUEUE, LinkProfile, Loss, MAX_DELAY, MAX_OUTAGES, MAX_PACKET};
pub use profile_text::{ProfileError, Rate};
pub use random::Random;
pub use world::{Direction, Verdict, WORLD_ADDRESS, World};

#[cfg(test)]
mod link_tests;
