//! What contenders draw.

use serde::{Deserialize, Serialize};

/// What one contender drew on one workload in one round, the idle power subtracted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Energy {
    pub(super) contender: usize,
    pub(super) workload: usize,
    /// Above what the machine draws without it.
    pub(super) joules: f64,
    /// Packets that were enciphered for that.
    pub(super) packets: u64,
    /// Their bytes, without tags.
    pub(super) bytes: u64,
    /// How long that took.
    pub(super) seconds: f64,
    /// What was subtracted, in watts.
    pub(super) idle_watts: f64,
}
