//! Registers as numbers side by side, so that a cipher is written once for every width.
//!
//! [`Words`] are 32-bit words for ciphers that compute; [`Bits`] are single bits for those that shift. A plain `u32` or
//! `u64` is the narrowest of each. The wide ones live in a file for each instruction set; nobody gets the first of them
//! without proof that this processor has it, so all that is done with them is sound. They are fast in functions alone
//! that are compiled for their instructions; elsewhere each operation is a call.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Ymm;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Zmm;

use core::ops::{BitAnd, BitXor, Not};

use zeroize::Zeroize;

/// Proof that this processor has registers of some kind.
pub trait Cpu: Copy + Zeroize {
    /// Asks the processor.
    fn detect() -> Option<Self>;
}

/// For registers that every processor has.
impl Cpu for () {
    fn detect() -> Option<Self> {
        Some(())
    }
}

/// Words of 32 bits; every operation does the same to each of them.
pub trait Words: Copy + Zeroize + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self> {
    /// Proof that this processor has such registers.
    type Cpu: Cpu;

    /// As many words as fit, of at least so many.
    fn load(cpu: Self::Cpu, words: &[u32]) -> Self;

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

    /// Writes four words of each lane, one after another and little-endian, into the lane's row from byte `at` on.
    fn write<const N: usize>(words: [Self; 4], rows: &mut [[u8; N]], at: usize);
}

impl Words for u32 {
    type Cpu = ();

    #[inline(always)]
    fn load(_cpu: (), words: &[u32]) -> Self {
        words[0]
    }

    #[inline(always)]
    fn splat(self, word: u32) -> Self {
        word
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        self.rotate_left(bits)
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        self << bits
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        self >> bits
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self {
        Self::from(self < other).wrapping_neg()
    }

    #[inline(always)]
    fn folded_square(self) -> Self {
        let square = u64::from(self) * u64::from(self);
        (square ^ square >> 32) as Self
    }

    #[inline(always)]
    fn write<const N: usize>(words: [Self; 4], rows: &mut [[u8; N]], at: usize) {
        for (bytes, word) in rows[0][at..at + 16].as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }
}

/// Bits, one for each lane, in words of 64.
pub trait Bits: Copy + Zeroize + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self> {
    /// Words of 64 bits.
    const WORDS: usize;

    /// Proof that this processor has such registers.
    type Cpu: Cpu;

    /// [`Self::WORDS`] words.
    fn load(cpu: Self::Cpu, words: &[u64]) -> Self;

    /// A register like this one with the same word everywhere.
    fn splat(self, word: u64) -> Self;

    /// Word `i`.
    fn word(self, i: usize) -> u64;

    /// Each word by 1 to 63.
    fn shift_left(self, bits: u32) -> Self;

    /// Each word by 1 to 63.
    fn shift_right(self, bits: u32) -> Self;
}

impl Bits for u64 {
    const WORDS: usize = 1;

    type Cpu = ();

    #[inline(always)]
    fn load(_cpu: (), words: &[u64]) -> Self {
        words[0]
    }

    #[inline(always)]
    fn splat(self, word: u64) -> Self {
        word
    }

    #[inline(always)]
    fn word(self, _i: usize) -> u64 {
        self
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        self << bits
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        self >> bits
    }
}

/// Transposes a matrix of 64 by 64 bits for each word of 64: bit c of row r becomes bit r of row c.
#[inline(always)]
pub(crate) fn transpose<B: Bits>(rows: &mut [B; 64]) {
    for first in 0..8 {
        swap_blocks(rows, first, 8);
    }
    for first in (0..64).step_by(8) {
        swap_blocks(rows, first, 1);
    }
}

/// Three of the six steps on eight rows, `apart` from each other: exchanges their blocks of 4, 2 and 1 times `apart`.
#[inline(always)]
fn swap_blocks<B: Bits>(rows: &mut [B; 64], first: usize, apart: usize) {
    macro_rules! swap {
        ($width:literal: $($one:literal $other:literal),*) => {
            let width = $width * apart as u32;
            // The columns whose number lacks the bit `width`.
            let low = rows[0].splat(u64::MAX / ((1 << width) + 1));
            $(let (one, other) = (first + $one * apart, first + $other * apart);
            let exchanged = (rows[one].shift_right(width) ^ rows[other]) & low;
            rows[one] = rows[one] ^ exchanged.shift_left(width);
            rows[other] = rows[other] ^ exchanged;)*
        };
    }
    swap!(4: 0 4, 1 5, 2 6, 3 7);
    swap!(2: 0 2, 1 3, 4 6, 5 7);
    swap!(1: 0 1, 2 3, 4 5, 6 7);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_turns_columns_into_rows() {
        let mut rows: [u64; 64] = core::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let before = rows;
        transpose(&mut rows);
        for (r, row) in rows.iter().enumerate() {
            for (c, column) in before.iter().enumerate() {
                assert_eq!(row >> c & 1, column >> r & 1, "row {r}, column {c}");
            }
        }
    }
}
