//! The configuration file, and what of it is in force beside flags and environment.

pub mod secrets;
