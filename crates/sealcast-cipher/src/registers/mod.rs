//! Registers as numbers side by side, so that a cipher is written once for every width.
//!
//! The [`Lanes`] of a register belong to a packet each. [`Shifts`] is for ciphers whose shift registers are cut into
//! words, [`Words`] for those that compute, and [`Bits`] for those that do neither with more than a bit. A plain `u32`
//! or `u64` is the narrowest register. The wide ones live in a file for each instruction set; nobody gets the first of
//! them without a proof that this processor has it, so all that is done with them is sound. They are fast within
//! [`Cpu::run`] alone.

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

/// What every register can do, whatever is in it.
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

/// Words of type `W`, as pieces of shift registers.
pub trait Shifts<W>: Register {
    /// In each lane the words as one number, of which `self` is the lower half, moved down by `bits`: its lower half.
    /// Less than a word and at least one bit.
    fn funnel(self, upper: Self, bits: u32) -> Self;

    /// The bytes of each word the other way round.
    fn swap_bytes(self) -> Self;
}

/// `LANES` words of type `W`, of which each belongs to another packet.
pub trait Lanes<W, const LANES: usize>: Register {
    /// A register of these words.
    fn load(cpu: Self::Cpu, words: [W; LANES]) -> Self;

    /// Lanes of both by turns: what the lower halves give, and the upper ones.
    fn zip(self, other: Self) -> (Self, Self);
}

/// Words of 32 bits; every operation does the same to each of them.
pub trait Words: Register {
    /// A register like this one with the same word everywhere.
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

    /// All bits one where the word is less than the other one.
    fn less(self, other: Self) -> Self;

    /// The two halves of each word's 64-bit square, added modulo 2.
    fn folded_square(self) -> Self;

    /// Lays four words of each lane, one after another and little-endian, over the lane's row from byte `at` on.
    fn xor<const N: usize>(words: [Self; 4], rows: &mut [&mut [u8; N]], at: usize);
}

/// Bits, one for each lane, in words of 64.
pub trait Bits: Register {
    /// A register like this one with the same word everywhere.
    fn splat(self, word: u64) -> Self;

    /// Each word by 1 to 63.
    fn shift_left(self, bits: u32) -> Self;

    /// Each word by 1 to 63.
    fn shift_right(self, bits: u32) -> Self;
}
