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
pub use words::Words;

use crate::interleaved::Batched;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};
use crate::sizes::{Facts, Sizes};

/// Eight packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Batched<8, 32, lanes::Vectors<Ymm>>;
/// Sixteen packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Batched<16, 64, lanes::Vectors<Zmm>>;
/// Four packets in parallel.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<4, 16, lanes::Vectors<Quad>>;

const FACTS: Facts = Facts {
    name: "grain-128a",
    key_bytes: Sizes::exactly(16),
    iv_bytes: Sizes::exactly(12),
    source: "Ågren, Hell, Johansson and Meier, Grain-128a: a new version of Grain-128, 2011",
};

/// Clocks before the first bit of pre-output, during which the output is fed back.
const WARM_UP_CLOCKS: usize = 256;
