//! Rabbit: eight state words that are squared, and eight counters.
//!
//! Byte order is that of eSTREAM's files, all numbers little-endian; RFC 4503 prints the same bytes in reverse. Without
//! an IV the keystream starts from the key alone, as the RFC allows: once under each key.

mod definition;

pub use definition::Definition;

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "rabbit",
    key_bytes: Sizes::exactly(16),
    iv_bytes: Sizes::steps(0, 8, 8),
    source: "RFC 4503, A description of the Rabbit stream cipher algorithm, 2006",
};
