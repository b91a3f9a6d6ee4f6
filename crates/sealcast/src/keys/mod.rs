//! Keys of this machine: entropy, mechanisms, identity files and allow lists.

pub mod allow;
pub mod entropy;
pub mod files;
pub mod mechanism;
