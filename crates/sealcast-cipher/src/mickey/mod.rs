//! MICKEY v1 and MICKEY 2.0: two shift registers that clock each other irregularly.
//!
//! The versions differ in length and constants alone, so they share their code. Byte order is that of the authors:
//! everywhere, the first bit is the highest one of the first byte. The length of the IV counts: none is not the same as
//! zeros.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod definition;
mod slices;
mod versions;
mod words;

pub use definition::Definition;
pub use versions::{V1, V2, Version};
pub use words::Words;

#[cfg(target_arch = "x86_64")]
use crate::{
    registers::{Ymm, Zmm},
    side_by_side::Batched,
};

/// Batches of up to 256 packets at once, for processors with AVX2.
#[cfg(target_arch = "x86_64")]
pub type Avx2<V> = Batched<256, { slices::RUN }, slices::Slices<V, Ymm>>;

/// Batches of up to 512 packets at once, for processors with AVX-512.
#[cfg(target_arch = "x86_64")]
pub type Avx512<V> = Batched<512, { slices::RUN }, slices::Slices<V, Zmm>>;
