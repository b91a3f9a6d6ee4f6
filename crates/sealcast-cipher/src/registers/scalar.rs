//! The narrowest registers: plain words, available on every processor.

use super::{Bits, Lanes, Register, Words};
use crate::cipher::xor_into;

impl Register for u32 {
    type Cpu = ();
    type Bytes = [u8; 4];

    #[inline(always)]
    fn to_bytes(self) -> Self::Bytes {
        self.to_le_bytes()
    }
}

impl Register for u64 {
    type Cpu = ();
    type Bytes = [u8; 8];

    #[inline(always)]
    fn to_bytes(self) -> Self::Bytes {
        self.to_le_bytes()
    }
}

impl Words for u32 {
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
    fn xor<const N: usize>(words: [Self; 4], rows: &mut [&mut [u8; N]], at: usize) {
        xor_into(&mut rows[0][at..at + 16], words.map(Self::to_le_bytes).as_flattened());
    }
}

impl Lanes<Self, 1> for u64 {
    #[inline(always)]
    fn load(_cpu: (), [word]: [Self; 1]) -> Self {
        word
    }

    #[inline(always)]
    fn zip(self, other: Self) -> (Self, Self) {
        (self, other)
    }
}

impl Bits for u64 {
    #[inline(always)]
    fn splat(self, word: u64) -> Self {
        word
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
