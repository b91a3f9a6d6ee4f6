//! Keys of this machine: entropy, key mechanisms, study suites, identity files, allow lists and fingerprints.

pub mod allow;
pub mod entropy;
pub mod files;
pub mod fingerprint;
pub mod mechanism;
#[cfg(feature = "study")]
pub mod study;
