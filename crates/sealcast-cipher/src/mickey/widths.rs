//! The widths of bit slices: which registers hold them, and the kernel that serves the packets too few for one.

use super::bitsliced::{Bitsliced, Width};
use super::{Version, Words};
use crate::interleaved::Batched;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};

/// Batches of up to 256 packets at once, for processors with AVX2.
#[cfg(target_arch = "x86_64")]
pub type Avx2<V> = Batched<256, 32, Bitsliced<V, Ymm, 4>>;

/// Batches of up to 512 packets at once, for processors with AVX-512.
#[cfg(target_arch = "x86_64")]
pub type Avx512<V> = Batched<512, 64, Bitsliced<V, Zmm, 8>>;

/// Batches of up to 128 packets at once, for processors with NEON.
#[cfg(target_arch = "aarch64")]
pub type Neon<V> = Batched<128, 16, Bitsliced<V, Quad, 2>>;

impl Width for u64 {
    type Alone<V: Version> = Words<V>;
    const LEAST: usize = 10;
}

#[cfg(target_arch = "x86_64")]
impl Width for Ymm {
    type Alone<V: Version> = Words<V>;
    const LEAST: usize = 9;
}

/// For up to 260 packets, half the width is faster: its 256 lanes take 0.7 times as long, and the last 4 packets go
/// singly.
#[cfg(target_arch = "x86_64")]
impl Width for Zmm {
    type Alone<V: Version> = Avx2<V>;
    const LEAST: usize = 261;
}

/// Not measured: on most of these processors words have the same throughput, but this holds 64 packets.
#[cfg(target_arch = "aarch64")]
impl Width for Quad {
    type Alone<V: Version> = Words<V>;
    const LEAST: usize = 65;
}
