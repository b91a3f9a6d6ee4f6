//! The configuration file, and what of it is in force beside flags and environment.
//!
//! A flag overrides the environment, the environment overrides the file. Every option is described in
//! `docs/sealcast.example.toml`.

pub mod camera;
pub mod file;
pub mod keys;
pub mod secrets;
pub mod settings;

pub use file::{FileConfig, load};
pub use settings::{Origin, Settings, flag_in_force, in_force, list_in_force};
