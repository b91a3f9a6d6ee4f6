//! Grain-v1: a linear and a nonlinear shift register of 80 bits each.
//!
//! Bit order is that of eSTREAM's files: everywhere, the first bit is the least significant one of the first byte.

mod definition;
mod lanes;
mod words;

pub use definition::Definition;
pub use words::Words;

use crate::interleaved::Batched;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};
use crate::sizes::{Facts, Sizes};

/// Sixteen packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Batched<16, 32, lanes::Vectors<Ymm>>;
/// Thirty-two packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Batched<32, 64, lanes::Vectors<Zmm>>;
/// Eight packets in parallel.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<8, 16, lanes::Vectors<Quad>>;

const FACTS: Facts = Facts {
    name: "grain-v1",
    key_bytes: Sizes::exactly(10),
    iv_bytes: Sizes::exactly(8),
    source: "Hell, Johansson and Meier, Grain: a stream cipher for constrained environments, eSTREAM 2006",
};

/// Clocks before the first bit of keystream, during which the output is fed back.
const WARM_UP_CLOCKS: usize = 160;
