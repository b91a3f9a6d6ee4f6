//! The options of the program and their effective values.
//!
//! A flag overrides the environment, the environment overrides the file, and the file overrides the defaults.

pub mod camera;
mod declare;
mod example;
mod file;
pub mod option;
pub mod options;
pub mod secrets;
pub mod settings;

pub use example::example;
pub use options::{ClockSection, Config};
pub use settings::{Origin, Settings};
