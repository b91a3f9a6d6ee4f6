//! Registers of 128 bits, with NEON.
#![allow(unsafe_code)]

use core::arch::aarch64::*;
use core::convert::identity;
use core::ops::{BitAnd, BitOr, BitXor, Not};

use zeroize::Zeroize;

use super::transpose::turn;
use super::{Bits, Lanes, Register, Shifts, Words};
use crate::cipher::xor_into;
use crate::cpu;

const _: () = assert!(cfg!(target_endian = "little"), "words in memory are little-endian");

/// Four words of 32 bits, or 128 single bits.
#[derive(Clone, Copy)]
pub struct Quad(uint32x4_t);

/// Evaluates intrinsics whose arguments and results are registers only.
macro_rules! compute {
    ($what:expr) => {
        // SAFETY: a `cpu::Neon` or a register made by means of one proves that the processor has NEON.
        unsafe { $what }
    };
}

impl Zeroize for Quad {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl BitXor for Quad {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(compute!(veorq_u32(self.0, other.0)))
    }
}

impl BitAnd for Quad {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(compute!(vandq_u32(self.0, other.0)))
    }
}

impl BitOr for Quad {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(compute!(vorrq_u32(self.0, other.0)))
    }
}

impl Not for Quad {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(compute!(vmvnq_u32(self.0)))
    }
}

impl Register for Quad {
    type Cpu = cpu::Neon;
    type Bytes = [u8; 16];

    #[inline(always)]
    fn to_bytes(self) -> Self::Bytes {
        // SAFETY: both are 16 bytes, whatever their bits.
        unsafe { core::mem::transmute::<uint32x4_t, Self::Bytes>(self.0) }
    }
}

/// `$to` and `$from` convert a register from words of 32 bits to these words and back.
macro_rules! lanes {
    ($word:ty: $lanes:literal, $signed:ty, $to:ident, $from:ident, $shift:ident, $set:ident, $reverse:ident, $low:ident,
        $high:ident) => {
        impl Shifts<$word> for Quad {
            #[inline(always)]
            fn funnel(self, upper: Self, bits: u32) -> Self {
                // A negative shift is a right shift.
                let down = compute!($from($shift($to(self.0), $set(-(bits as $signed)))));
                let up = compute!($from($shift(
                    $to(upper.0),
                    $set((<$word>::BITS - bits) as $signed)
                )));
                Self(down) | Self(up)
            }

            #[inline(always)]
            fn swap_bytes(self) -> Self {
                Self(compute!(vreinterpretq_u32_u8($reverse(vreinterpretq_u8_u32(
                    self.0
                )))))
            }
        }

        impl Lanes<$word, $lanes> for Quad {
            #[inline(always)]
            fn load(_cpu: cpu::Neon, words: [$word; $lanes]) -> Self {
                // SAFETY: both are 16 bytes, whatever their bits.
                Self(unsafe { core::mem::transmute::<[$word; $lanes], uint32x4_t>(words) })
            }

            #[inline(always)]
            fn zip(self, other: Self) -> (Self, Self) {
                (
                    Self(compute!($from($low($to(self.0), $to(other.0))))),
                    Self(compute!($from($high($to(self.0), $to(other.0))))),
                )
            }
        }
    };
}

lanes!(u16: 8, i16, vreinterpretq_u16_u32, vreinterpretq_u32_u16, vshlq_u16, vdupq_n_s16, vrev16q_u8, vzip1q_u16,
    vzip2q_u16);
lanes!(u32: 4, i32, identity, identity, vshlq_u32, vdupq_n_s32, vrev32q_u8, vzip1q_u32,
    vzip2q_u32);
lanes!(u64: 2, i64, vreinterpretq_u64_u32, vreinterpretq_u32_u64, vshlq_u64, vdupq_n_s64, vrev64q_u8, vzip1q_u64,
    vzip2q_u64);

impl Quad {
    /// Table elements, with the lowest byte of each word as index.
    #[inline(always)]
    pub(crate) fn look_up(self, table: &[u32; 256]) -> Self {
        let bytes = self.to_bytes();
        let words = core::array::from_fn(|i| table[usize::from(bytes[4 * i])]);
        // SAFETY: both are 16 bytes, whatever their bits.
        Self(unsafe { core::mem::transmute::<[u32; 4], uint32x4_t>(words) })
    }
}

impl Words for Quad {
    #[inline(always)]
    fn splat(self, word: u32) -> Self {
        Self(compute!(vdupq_n_u32(word)))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(compute!(vaddq_u32(self.0, other.0)))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(compute!(vsubq_u32(self.0, other.0)))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(compute!(vmulq_u32(self.0, other.0)))
    }

    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        Words::shift_left(self, bits) | Words::shift_right(self, 32 - bits)
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        Self(compute!(vshlq_u32(self.0, vdupq_n_s32(bits.cast_signed()))))
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        // A negative shift is a right shift.
        Self(compute!(vshlq_u32(self.0, vdupq_n_s32(-bits.cast_signed()))))
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self {
        Self(compute!(vcltq_u32(self.0, other.0)))
    }

    #[inline(always)]
    fn folded_square(self) -> Self {
        let low = compute!(vreinterpretq_u32_u64(vmull_u32(
            vget_low_u32(self.0),
            vget_low_u32(self.0)
        )));
        let high = compute!(vreinterpretq_u32_u64(vmull_high_u32(self.0, self.0)));
        Self(compute!(vuzp1q_u32(low, high))) ^ Self(compute!(vuzp2q_u32(low, high)))
    }

    #[inline(always)]
    fn xor<const N: usize>(mut words: [Self; 4], rows: &mut [&mut [u8; N]], at: usize) {
        turn::<u32, 4, Self>(&mut words);
        for (row, lane) in rows.iter_mut().zip(words) {
            xor_into(&mut row[at..at + 16], &lane.to_bytes());
        }
    }
}

impl Bits for Quad {
    #[inline(always)]
    fn splat(self, word: u64) -> Self {
        Self(compute!(vreinterpretq_u32_u64(vdupq_n_u64(word))))
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        let words = compute!(vreinterpretq_u64_u32(self.0));
        let shifted = compute!(vshlq_u64(words, vdupq_n_s64(bits.into())));
        Self(compute!(vreinterpretq_u32_u64(shifted)))
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        // A negative shift is a right shift.
        let words = compute!(vreinterpretq_u64_u32(self.0));
        let shifted = compute!(vshlq_u64(words, vdupq_n_s64(-i64::from(bits))));
        Self(compute!(vreinterpretq_u32_u64(shifted)))
    }
}
