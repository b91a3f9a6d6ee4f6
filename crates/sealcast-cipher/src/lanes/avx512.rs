//! Vectors of 512 bits, with funnel shifts.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::ops::{BitAnd, BitOr, BitXor};

use super::{InstructionSet, Lanes, SideBySide, batch};
use crate::cipher::Packet;
use crate::cpu::Avx512;

impl InstructionSet for Avx512 {
    const NAME: &'static str = "avx512";
    type U16 = U16x32;
    type U32 = U32x16;
    type U64 = U64x8;

    fn detect() -> Option<Self> {
        Self::detect()
    }

    fn xor_batch<C: SideBySide>(self, key: &C::Key, packets: &mut [Packet<'_>]) {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2")]
        fn compiled<C: SideBySide>(set: Avx512, key: &C::Key, packets: &mut [Packet<'_>]) {
            batch::xor::<C, Avx512>(set, key, packets);
        }
        // SAFETY: `self` proves that the processor has them.
        unsafe { compiled::<C>(self, key, packets) }
    }
}

/// `swapped` says for each byte of 128 bits where it comes from, so that the bytes of a word change places.
macro_rules! vectors {
    ($name:ident: [$word:ty; $lanes:literal], $signed:ty, $funnel:ident, $set:ident, $pick:ident, $swapped:literal) => {
        /// Only `load` makes one from something else than another one, so its owner has proved that AVX-512 is there.
        #[derive(Clone, Copy)]
        pub struct $name(__m512i);

        impl $name {
            /// Where zipped lanes come from: half a vector's lanes from `first` on, by turns from either vector, the
            /// second of which begins at number `$lanes`.
            const fn zipped(first: usize) -> [$word; $lanes] {
                let mut from = [0; $lanes];
                let mut i = 0;
                while i < $lanes {
                    from[i] = (first + i / 2 + i % 2 * $lanes) as $word;
                    i += 1;
                }
                from
            }
        }

        impl BitXor for $name {
            type Output = Self;

            #[inline(always)]
            fn bitxor(self, other: Self) -> Self {
                // SAFETY: a vector proves that AVX-512 is there.
                Self(unsafe { _mm512_xor_si512(self.0, other.0) })
            }
        }

        impl BitAnd for $name {
            type Output = Self;

            #[inline(always)]
            fn bitand(self, other: Self) -> Self {
                // SAFETY: a vector proves that AVX-512 is there.
                Self(unsafe { _mm512_and_si512(self.0, other.0) })
            }
        }

        impl BitOr for $name {
            type Output = Self;

            #[inline(always)]
            fn bitor(self, other: Self) -> Self {
                // SAFETY: a vector proves that AVX-512 is there.
                Self(unsafe { _mm512_or_si512(self.0, other.0) })
            }
        }

        impl Lanes for $name {
            type Set = Avx512;
            type Word = $word;
            type Words = [$word; $lanes];
            type Square = [Self; $lanes];
            type Bytes = [u8; 64];
            const ZERO: Self::Words = [0; $lanes];

            #[inline(always)]
            fn load(_: Avx512, words: Self::Words) -> Self {
                // SAFETY: both have 64 bytes, of which every value is valid.
                Self(unsafe { core::mem::transmute::<Self::Words, __m512i>(words) })
            }

            #[inline(always)]
            fn to_bytes(self) -> Self::Bytes {
                // SAFETY: both have 64 bytes, of which every value is valid.
                unsafe { core::mem::transmute::<__m512i, Self::Bytes>(self.0) }
            }

            #[inline(always)]
            fn square(self) -> Self::Square {
                [self; $lanes]
            }

            #[inline(always)]
            fn funnel(self, upper: Self, bits: u32) -> Self {
                // SAFETY: a vector proves that AVX-512 is there.
                Self(unsafe { $funnel(self.0, upper.0, $set(bits as $signed)) })
            }

            #[inline(always)]
            fn swap_bytes(self) -> Self {
                // SAFETY: a vector proves that AVX-512 is there.
                Self(unsafe {
                    let order = _mm_set_epi64x($swapped + 0x0808_0808_0808_0808, $swapped);
                    _mm512_shuffle_epi8(self.0, _mm512_broadcast_i32x4(order))
                })
            }

            #[inline(always)]
            fn zip(self, other: Self) -> (Self, Self) {
                const LOW: [$word; $lanes] = $name::zipped(0);
                const HIGH: [$word; $lanes] = $name::zipped($lanes / 2);
                // SAFETY: a vector proves that AVX-512 is there; both kinds of array have its 64 bytes.
                unsafe {
                    let [low, high] = [LOW, HIGH].map(|from| core::mem::transmute::<Self::Words, __m512i>(from));
                    (
                        Self($pick(self.0, low, other.0)),
                        Self($pick(self.0, high, other.0)),
                    )
                }
            }
        }
    };
}

vectors!(U16x32: [u16; 32], i16, _mm512_shrdv_epi16, _mm512_set1_epi16, _mm512_permutex2var_epi16,
    0x0607_0405_0203_0001);
vectors!(U32x16: [u32; 16], i32, _mm512_shrdv_epi32, _mm512_set1_epi32, _mm512_permutex2var_epi32,
    0x0405_0607_0001_0203);
vectors!(U64x8: [u64; 8], i64, _mm512_shrdv_epi64, _mm512_set1_epi64, _mm512_permutex2var_epi64,
    0x0001_0203_0405_0607);
