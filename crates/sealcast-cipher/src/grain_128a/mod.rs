//! Grain-128a: a linear and a nonlinear shift register of 128 bits each, and an optional tag of 32 bits.
//!
//! Bit order is that of the paper's vectors: everywhere, the first bit is the most significant one of the first byte.
//! (Code for Grain-128AEAD takes the least significant one.)
//!
//! In the paper, the first bit of the IV, `IV_0`, enables authentication. The kernels here produce the *pre-output*
//! regardless of that bit; it is the keystream if the bit is 0. [`Authenticated`] is the mode for 1.

mod authenticated;
mod definition;
mod lanes;
mod words;

pub use authenticated::{Authenticated, Forged, TAG_BYTES};
pub use definition::Definition;
#[cfg(target_arch = "aarch64")]
pub use lanes::Neon;
#[cfg(target_arch = "x86_64")]
pub use lanes::{Avx2, Avx512};
pub use words::Words;

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "grain-128a",
    key_bytes: Sizes::exactly(16),
    iv_bytes: Sizes::exactly(12),
    source: "Ågren, Hell, Johansson and Meier, Grain-128a: a new version of Grain-128, 2011",
};

/// Clocks before the first bit of pre-output, during which the output is fed back.
const WARM_UP_CLOCKS: usize = 256;
