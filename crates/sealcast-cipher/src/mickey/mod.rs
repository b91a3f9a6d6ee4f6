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
mod widths;
mod words;

pub use definition::Definition;
pub use versions::{V1, V2, Version};
#[cfg(target_arch = "aarch64")]
pub use widths::Neon;
#[cfg(target_arch = "x86_64")]
pub use widths::{Avx2, Avx512};
pub use words::Words;
