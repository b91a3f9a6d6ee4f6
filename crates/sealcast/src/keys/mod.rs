//! Keys of this machine: entropy, mechanisms, study suites, identity files and allow lists.

pub mod allow;
pub mod entropy;
pub mod files;
pub mod mechanism;
pub mod study;
