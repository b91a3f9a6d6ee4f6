//! MICKEY v1 and MICKEY 2.0: two shift registers that clock each other irregularly.
//!
//! The versions differ only in length and constants, so they share their code. Bit order is that of the authors:
//! everywhere, the first bit is the most significant one of the first byte. The length of the IV matters: an empty IV
//! is not the same as zeros.

#[macro_use]
mod unrolled;

mod bitsliced;
mod clocks;
mod definition;
mod r;
mod s;
mod versions;
mod words;

pub use definition::Definition;
pub use versions::{V1, V2, Version};
pub use words::Words;

use crate::interleaved::Batched;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};

/// Batches of up to 256 packets at once, for processors with AVX2.
#[cfg(target_arch = "x86_64")]
pub type Avx2<V> = Batched<256, 32, bitsliced::Bitsliced<V, Ymm, 4>>;

/// Batches of up to 512 packets at once, for processors with AVX-512.
#[cfg(target_arch = "x86_64")]
pub type Avx512<V> = Batched<512, 64, bitsliced::Bitsliced<V, Zmm, 8>>;

/// Batches of up to 128 packets at once, for processors with NEON.
#[cfg(target_arch = "aarch64")]
pub type Neon<V> = Batched<128, 16, bitsliced::Bitsliced<V, Quad, 2>>;
