//! Rabbit: eight state words that are squared, and eight counters.
//!
//! Byte order is that of eSTREAM's files, with all numbers little-endian; RFC 4503 prints the same bytes in reverse.
//! Without an IV the keystream starts from the key alone, as the RFC allows; each key must then be used only once.

mod definition;
mod lanes;

pub use definition::Definition;

use crate::interleaved::Batched;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};
use crate::sizes::{Facts, Sizes};

/// Batches of up to eight packets at once, for processors with AVX2.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Batched<8, { lanes::RUN }, lanes::Vectors<Ymm>>;

/// Batches of up to sixteen packets at once, for processors with AVX-512.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Batched<16, { lanes::RUN }, lanes::Vectors<Zmm>>;

/// Batches of up to four packets at once, for processors with NEON.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<4, { lanes::RUN }, lanes::Vectors<Quad>>;

const FACTS: Facts = Facts {
    name: "rabbit",
    key_bytes: Sizes::exactly(16),
    iv_bytes: Sizes::steps(0, 8, 8),
    source: "RFC 4503, A description of the Rabbit stream cipher algorithm, 2006",
};
