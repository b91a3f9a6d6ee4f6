//! Sealing and opening records: suites, keys, nonces, limits and the replay window (protocol.md §2, keys.md §5 and §6).

#[cfg(test)]
mod exhaustive_tests;
mod kept;
mod nonce;
mod opener;
mod packet_key;
mod refusal;
mod replay;
mod sealer;
pub mod suite;
#[cfg(test)]
mod tests;

pub use kept::{MediaKey, SealedFrame, SealedRecord};
pub use nonce::Nonce;
pub use opener::{Opened, Opener, Sealed};
pub use packet_key::{OpenFailed, PacketKey};
pub use refusal::{Refusal, RefusalCounts};
pub use replay::{REPLAY_WINDOW, ReplayWindow};
pub use sealer::{Exhausted, RecordMeta, SealLimits, Sealer};
pub use suite::Suite;
