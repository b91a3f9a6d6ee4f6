//! Registers of 256 bits, with AVX2.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::ops::{BitAnd, BitOr, BitXor, Not};

use zeroize::Zeroize;

use super::{Bits, Lanes, Register, Shifts, Words};
use crate::cipher::xor_into;
use crate::cpu;

/// Eight words of 32 bits, or 256 single bits.
#[derive(Clone, Copy)]
pub struct Ymm(__m256i);

/// Calls an intrinsic.
macro_rules! call {
    ($intrinsic:ident $(::<$constant:literal>)? ($($argument:expr),*)) => {
        // SAFETY: a `cpu::Avx2` or a register made by means of one proves that the processor has it.
        unsafe { $intrinsic$(::<$constant>)?($($argument),*) }
    };
}

impl Zeroize for Ymm {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl BitXor for Ymm {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(call!(_mm256_xor_si256(self.0, other.0)))
    }
}

impl BitAnd for Ymm {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(call!(_mm256_and_si256(self.0, other.0)))
    }
}

impl BitOr for Ymm {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(call!(_mm256_or_si256(self.0, other.0)))
    }
}

impl Not for Ymm {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        self ^ Words::splat(self, u32::MAX)
    }
}

impl Ymm {
    /// Table elements, with the lowest byte of each word as index.
    #[inline(always)]
    pub(crate) fn look_up(self, table: &[u32; 256]) -> Self {
        let index = self & Words::splat(self, 0xFF);
        // SAFETY: the register proves that the processor has AVX2; an index of one byte stays within the table.
        Self(unsafe { _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), index.0) })
    }
}

impl Register for Ymm {
    type Cpu = cpu::Avx2;
    type Bytes = [u8; 32];

    #[inline(always)]
    fn to_bytes(self) -> Self::Bytes {
        // SAFETY: both are 32 bytes, whatever their bits.
        unsafe { core::mem::transmute::<__m256i, Self::Bytes>(self.0) }
    }
}

/// The unpacking instructions work within each half of a register; a last step combines the halves. `$swapped` gives
/// for each byte of 64 bits its source, so as to reverse the bytes of a word.
macro_rules! lanes {
    ($word:ty: $lanes:literal, $left:ident, $right:ident, $low:ident, $high:ident, $swapped:literal) => {
        impl Shifts<$word> for Ymm {
            #[inline(always)]
            fn funnel(self, upper: Self, bits: u32) -> Self {
                let down = call!(_mm_cvtsi32_si128(bits.cast_signed()));
                let up = call!(_mm_cvtsi32_si128((<$word>::BITS - bits).cast_signed()));
                Self(call!($right(self.0, down))) | Self(call!($left(upper.0, up)))
            }

            #[inline(always)]
            fn swap_bytes(self) -> Self {
                let order = call!(_mm_set_epi64x($swapped + 0x0808_0808_0808_0808, $swapped));
                let order = call!(_mm256_broadcastsi128_si256(order));
                Self(call!(_mm256_shuffle_epi8(self.0, order)))
            }
        }

        impl Lanes<$word, $lanes> for Ymm {
            #[inline(always)]
            fn load(_cpu: cpu::Avx2, words: [$word; $lanes]) -> Self {
                // SAFETY: both are 32 bytes, whatever their bits.
                Self(unsafe { core::mem::transmute::<[$word; $lanes], __m256i>(words) })
            }

            #[inline(always)]
            fn zip(self, other: Self) -> (Self, Self) {
                let low = call!($low(self.0, other.0));
                let high = call!($high(self.0, other.0));
                (
                    Self(call!(_mm256_permute2x128_si256::<0x20>(low, high))),
                    Self(call!(_mm256_permute2x128_si256::<0x31>(low, high))),
                )
            }
        }
    };
}

lanes!(u16: 16, _mm256_sll_epi16, _mm256_srl_epi16, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16,
    0x0607_0405_0203_0001);
lanes!(u32: 8, _mm256_sll_epi32, _mm256_srl_epi32, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32,
    0x0405_0607_0001_0203);
lanes!(u64: 4, _mm256_sll_epi64, _mm256_srl_epi64, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64,
    0x0001_0203_0405_0607);

impl Words for Ymm {
    #[inline(always)]
    fn splat(self, word: u32) -> Self {
        Self(call!(_mm256_set1_epi32(word.cast_signed())))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(call!(_mm256_add_epi32(self.0, other.0)))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(call!(_mm256_sub_epi32(self.0, other.0)))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(call!(_mm256_mullo_epi32(self.0, other.0)))
    }

    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        // AVX2 has no rotation; with AVX-512 the compiler replaces this by one instruction.
        Words::shift_left(self, bits) ^ Words::shift_right(self, 32 - bits)
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        Self(call!(_mm256_sllv_epi32(self.0, Words::splat(self, bits).0)))
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        Self(call!(_mm256_srlv_epi32(self.0, Words::splat(self, bits).0)))
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self {
        let most = call!(_mm256_max_epu32(self.0, other.0));
        !Self(call!(_mm256_cmpeq_epi32(most, self.0)))
    }

    #[inline(always)]
    fn folded_square(self) -> Self {
        let high = Self(call!(_mm256_srli_epi64::<32>(self.0)));
        let even = Self(call!(_mm256_mul_epu32(self.0, self.0)));
        let odd = Self(call!(_mm256_mul_epu32(high.0, high.0)));
        let even = even ^ Self(call!(_mm256_srli_epi64::<32>(even.0)));
        let odd = odd ^ Self(call!(_mm256_slli_epi64::<32>(odd.0)));
        Self(call!(_mm256_blend_epi32::<0xAA>(even.0, odd.0)))
    }

    #[inline(always)]
    fn xor<const N: usize>([a, b, c, d]: [Self; 4], rows: &mut [&mut [u8; N]], at: usize) {
        let low = (
            call!(_mm256_unpacklo_epi32(a.0, b.0)),
            call!(_mm256_unpacklo_epi32(c.0, d.0)),
        );
        let high = (
            call!(_mm256_unpackhi_epi32(a.0, b.0)),
            call!(_mm256_unpackhi_epi32(c.0, d.0)),
        );
        let lanes = [
            call!(_mm256_unpacklo_epi64(low.0, low.1)),
            call!(_mm256_unpackhi_epi64(low.0, low.1)),
            call!(_mm256_unpacklo_epi64(high.0, high.1)),
            call!(_mm256_unpackhi_epi64(high.0, high.1)),
        ];
        for (i, lanes) in lanes.into_iter().enumerate() {
            // SAFETY: both are 32 bytes, whatever their bits.
            let quarters = unsafe { core::mem::transmute::<__m256i, [[u8; 16]; 2]>(lanes) };
            for (j, quarter) in quarters.iter().enumerate() {
                xor_into(&mut rows[4 * j + i][at..at + 16], quarter);
            }
        }
    }
}

impl Bits for Ymm {
    #[inline(always)]
    fn splat(self, word: u64) -> Self {
        Self(call!(_mm256_set1_epi64x(word.cast_signed())))
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        let bits = Bits::splat(self, bits.into());
        Self(call!(_mm256_sllv_epi64(self.0, bits.0)))
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        let bits = Bits::splat(self, bits.into());
        Self(call!(_mm256_srlv_epi64(self.0, bits.0)))
    }
}
