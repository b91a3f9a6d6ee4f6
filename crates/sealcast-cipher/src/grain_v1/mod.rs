//! Grain-v1: a linear and a nonlinear shift register of 80 bits each.
//!
//! Byte order is that of eSTREAM's files: everywhere, the first bit is the lowest one of the first byte.

mod definition;
mod lanes;
mod words;

pub use definition::Definition;
pub use words::Words;

/// Sixteen packets side by side.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = crate::lanes::Batched<Words, crate::cpu::Avx2>;
/// Thirty-two packets side by side.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = crate::lanes::Batched<Words, crate::cpu::Avx512>;

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "grain-v1",
    key_bytes: Sizes::exactly(10),
    iv_bytes: Sizes::exactly(8),
    source: "Hell, Johansson and Meier, Grain: a stream cipher for constrained environments, eSTREAM 2006",
};

/// Clocks before the first bit of keystream, with the output fed back.
const WARM_UP_CLOCKS: usize = 160;
