//! Grain-v1: a linear and a nonlinear shift register of 80 bits each.
//!
//! Bit order is that of eSTREAM's files: everywhere, the first bit is the least significant one of the first byte.

mod definition;
mod lanes;
mod words;

pub use definition::Definition;
#[cfg(target_arch = "aarch64")]
pub use lanes::Neon;
#[cfg(target_arch = "x86_64")]
pub use lanes::{Avx2, Avx512};
pub use words::Words;

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "grain-v1",
    key_bytes: Sizes::exactly(10),
    iv_bytes: Sizes::exactly(8),
    source: "Hell, Johansson and Meier, Grain: a stream cipher for constrained environments, eSTREAM 2006",
};

/// Clocks before the first bit of keystream, during which the output is fed back.
const WARM_UP_CLOCKS: usize = 160;
