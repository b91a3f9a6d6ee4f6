//! Registers as vectors of numbers, so that a cipher is written once for every width.
//!
//! Each of the [`Lanes`] of a register belongs to a different packet. [`Shifts`] is for ciphers whose shift registers
//! are split into words, [`Words`] for those that use arithmetic, and [`Bits`] for those that work on single bits. A
//! plain `u32` or `u64` is the narrowest register. The wide ones have a file for each instruction set. Creating one
//! requires a proof that this processor has the instructions, so all operations on it are sound. They are fast only
//! within [`Cpu::run`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod transpose;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Ymm;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Zmm;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Quad;
pub(crate) use transpose::{Steps, columns, transpose, turn, xor};

use core::ops::{BitAnd, BitOr, BitXor, Not};

use zeroize::Zeroize;

use crate::cpu::Cpu;

/// Operations that every register has.
pub trait Register:
    Copy + Zeroize + BitXor<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    /// Proof that this processor has such registers.
    type Cpu: Cpu;

    /// An array of its size.
    type Bytes: AsRef<[u8]>;

    /// Its words, little-endian, one after another.
    fn to_bytes(self) -> Self::Bytes;
}

/// Words of type `W`, as parts of shift registers.
pub trait Shifts<W>: Register {
    /// In each lane, takes the double word with `self` as its lower half, shifts it right by `bits`, and returns its
    /// lower half. `bits` is at least one and less than a word.
    fn funnel(self, upper: Self, bits: u32) -> Self;

    /// Reverses the bytes of each word.
    fn swap_bytes(self) -> Self;
}

/// `LANES` words of type `W`, each of a different packet.
pub trait Lanes<W, const LANES: usize>: Register {
    /// A register of these words.
    fn load(cpu: Self::Cpu, words: [W; LANES]) -> Self;

    /// Interleaves the lanes of both: first those of the lower halves, then those of the upper ones.
    fn zip(self, other: Self) -> (Self, Self);
}

/// Words of 32 bits; every operation applies to each of them.
pub trait Words: Register {
    /// A register of this type with the same word in each lane.
    fn splat(self, word: u32) -> Self;

    /// Modulo 2^32.
    fn plus(self, other: Self) -> Self;

    /// Modulo 2^32.
    fn minus(self, other: Self) -> Self;

    /// Modulo 2^32.
    fn times(self, other: Self) -> Self;

    /// By 1 to 31.
    fn rotate_left(self, bits: u32) -> Self;

    /// By 1 to 31.
    fn shift_left(self, bits: u32) -> Self;

    /// By 1 to 31.
    fn shift_right(self, bits: u32) -> Self;

    /// All bits one if the word is less than the other one.
    fn less(self, other: Self) -> Self;

    /// The XOR of the two halves of each word's 64-bit square.
    fn folded_square(self) -> Self;

    /// XORs four consecutive little-endian words of each lane into the lane's row from byte `at` on.
    fn xor<const N: usize>(words: [Self; 4], rows: &mut [&mut [u8; N]], at: usize);
}

/// Bits, one for each lane, stored in words of 64.
pub trait Bits: Register {
    /// A register of this type with the same word everywhere.
    fn splat(self, word: u64) -> Self;

    /// Each word by 1 to 63.
    fn shift_left(self, bits: u32) -> Self;

    /// Each word by 1 to 63.
    fn shift_right(self, bits: u32) -> Self;
}
