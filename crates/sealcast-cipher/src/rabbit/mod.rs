//! Rabbit: eight state words that are squared, and eight counters.
//!
//! Byte order is that of eSTREAM's files, with all numbers little-endian; RFC 4503 prints the same bytes in reverse.
//! Without an IV the keystream starts from the key alone, as the RFC allows; each key must then be used only once.

mod definition;
mod lanes;

pub use definition::Definition;
#[cfg(target_arch = "aarch64")]
pub use lanes::Neon;
#[cfg(target_arch = "x86_64")]
pub use lanes::{Avx2, Avx512};

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "rabbit",
    key_bytes: Sizes::exactly(16),
    iv_bytes: Sizes::steps(0, 8, 8),
    source: "RFC 4503, A description of the Rabbit stream cipher algorithm, 2006",
};
