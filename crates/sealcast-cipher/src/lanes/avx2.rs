//! Vectors of 256 bits.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::ops::{BitAnd, BitOr, BitXor};

use super::{InstructionSet, Lanes, SideBySide, batch};
use crate::cipher::Packet;
use crate::cpu::Avx2;

impl InstructionSet for Avx2 {
    const NAME: &'static str = "avx2";
    type U16 = U16x16;
    type U32 = U32x8;
    type U64 = U64x4;

    fn detect() -> Option<Self> {
        Self::detect()
    }

    fn xor_batch<C: SideBySide>(self, key: &C::Key, packets: &mut [Packet<'_>]) {
        #[target_feature(enable = "avx2")]
        fn compiled<C: SideBySide>(set: Avx2, key: &C::Key, packets: &mut [Packet<'_>]) {
            batch::xor::<C, Avx2>(set, key, packets);
        }
        // SAFETY: `self` proves that the processor has AVX2.
        unsafe { compiled::<C>(self, key, packets) }
    }
}

/// `swapped` says for each byte of 128 bits where it comes from, so that the bytes of a word change places.
macro_rules! vectors {
    ($name:ident: [$word:ty; $lanes:literal], $left:ident, $right:ident, $low:ident, $high:ident, $swapped:literal) => {
        /// Only `load` makes one from something else than another one, so its owner has proved that AVX2 is there.
        #[derive(Clone, Copy)]
        pub struct $name(__m256i);

        impl BitXor for $name {
            type Output = Self;

            #[inline(always)]
            fn bitxor(self, other: Self) -> Self {
                // SAFETY: a vector proves that AVX2 is there.
                Self(unsafe { _mm256_xor_si256(self.0, other.0) })
            }
        }

        impl BitAnd for $name {
            type Output = Self;

            #[inline(always)]
            fn bitand(self, other: Self) -> Self {
                // SAFETY: a vector proves that AVX2 is there.
                Self(unsafe { _mm256_and_si256(self.0, other.0) })
            }
        }

        impl BitOr for $name {
            type Output = Self;

            #[inline(always)]
            fn bitor(self, other: Self) -> Self {
                // SAFETY: a vector proves that AVX2 is there.
                Self(unsafe { _mm256_or_si256(self.0, other.0) })
            }
        }

        impl Lanes for $name {
            type Set = Avx2;
            type Word = $word;
            type Words = [$word; $lanes];
            type Square = [Self; $lanes];
            type Bytes = [u8; 32];
            const ZERO: Self::Words = [0; $lanes];

            #[inline(always)]
            fn load(_: Avx2, words: Self::Words) -> Self {
                // SAFETY: both have 32 bytes, of which every value is valid.
                Self(unsafe { core::mem::transmute::<Self::Words, __m256i>(words) })
            }

            #[inline(always)]
            fn to_bytes(self) -> Self::Bytes {
                // SAFETY: both have 32 bytes, of which every value is valid.
                unsafe { core::mem::transmute::<__m256i, Self::Bytes>(self.0) }
            }

            #[inline(always)]
            fn square(self) -> Self::Square {
                [self; $lanes]
            }

            #[inline(always)]
            fn funnel(self, upper: Self, bits: u32) -> Self {
                // SAFETY: a vector proves that AVX2 is there.
                Self(unsafe {
                    let down = _mm_cvtsi32_si128(bits.cast_signed());
                    let up = _mm_cvtsi32_si128((<$word>::BITS - bits).cast_signed());
                    _mm256_or_si256($right(self.0, down), $left(upper.0, up))
                })
            }

            #[inline(always)]
            fn swap_bytes(self) -> Self {
                // SAFETY: a vector proves that AVX2 is there.
                Self(unsafe {
                    let order = _mm_set_epi64x($swapped + 0x0808_0808_0808_0808, $swapped);
                    _mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(order))
                })
            }

            #[inline(always)]
            fn zip(self, other: Self) -> (Self, Self) {
                // SAFETY: a vector proves that AVX2 is there.
                unsafe {
                    let (low, high) = ($low(self.0, other.0), $high(self.0, other.0));
                    let first = _mm256_permute2x128_si256::<0x20>(low, high);
                    (Self(first), Self(_mm256_permute2x128_si256::<0x31>(low, high)))
                }
            }
        }
    };
}

vectors!(U16x16: [u16; 16], _mm256_sll_epi16, _mm256_srl_epi16, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16,
    0x0607_0405_0203_0001);
vectors!(U32x8: [u32; 8], _mm256_sll_epi32, _mm256_srl_epi32, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32,
    0x0405_0607_0001_0203);
vectors!(U64x4: [u64; 4], _mm256_sll_epi64, _mm256_srl_epi64, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64,
    0x0001_0203_0405_0607);
