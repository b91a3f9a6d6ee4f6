//! Trivium: three shift registers of 93, 84 and 111 bits.
//!
//! Bit order is that of eSTREAM's files and reference code, not that of the paper's text: the bits K_1 to K_80 are
//! the key as a little-endian number, most significant bit first; the same for an IV of n bits and IV_1 to IV_n; the
//! first bit of keystream is the least significant of a byte. With an IV shorter than 80 bits, the remaining stages
//! are zero.

mod definition;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod parallel;
mod words;

pub use definition::Definition;
#[cfg(target_arch = "aarch64")]
pub use lanes::Neon;
#[cfg(target_arch = "x86_64")]
pub use parallel::{Avx2, Avx512};
pub use words::Words;

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "trivium",
    key_bytes: Sizes::exactly(10),
    iv_bytes: Sizes::steps(0, 10, 1),
    source: "De Cannière and Preneel, Trivium specifications, eSTREAM report 2005/030",
};

/// Clocks before the first bit of keystream: four full cycles of the state.
const WARM_UP_CLOCKS: usize = 4 * 288;
