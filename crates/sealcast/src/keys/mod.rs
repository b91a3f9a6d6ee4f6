//! Keys of this machine: entropy, key mechanisms, study suites, identity files, folders of publishers, lists of peers
//! and fingerprints.

pub mod allow;
mod claim;
#[cfg(feature = "study")]
pub mod dose_key;
pub mod entropy;
pub mod epoch_numbers;
pub mod files;
pub mod fingerprint;
pub mod gop_key;
pub mod mechanism;
pub mod null_key;
pub mod peers;
pub mod publisher;
pub mod seen_groups;
pub mod startup;
#[cfg(feature = "study")]
pub mod study;
mod take_over;
pub mod words;
