//! Registers of 512 bits, with AVX-512.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::ops::{BitAnd, BitOr, BitXor, Not};

use zeroize::Zeroize;

use super::{Bits, Lanes, Register, Shifts, Words};
use crate::cipher::xor_into;
use crate::cpu;

/// Sixteen words of 32 bits, or 512 single bits.
#[derive(Clone, Copy)]
pub struct Zmm(__m512i);

/// Calls an intrinsic.
macro_rules! call {
    ($intrinsic:ident $(::<$constant:literal>)? ($($argument:expr),*)) => {
        // SAFETY: a `cpu::Avx512` or a register made by means of one proves that the processor has it.
        unsafe { $intrinsic$(::<$constant>)?($($argument),*) }
    };
}

impl Zeroize for Zmm {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl BitXor for Zmm {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(call!(_mm512_xor_si512(self.0, other.0)))
    }
}

impl BitAnd for Zmm {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(call!(_mm512_and_si512(self.0, other.0)))
    }
}

impl BitOr for Zmm {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(call!(_mm512_or_si512(self.0, other.0)))
    }
}

impl Not for Zmm {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        self ^ Words::splat(self, u32::MAX)
    }
}

/// Positions of byte `byte` in each of the sixteen words, repeated four times, for [`Zmm::multiply_byte`].
const fn spread(byte: u8) -> [u8; 64] {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        places[i] = 4 * (i as u8 % 16) + byte;
        i += 1;
    }
    places
}

/// The inverse: the first, second, third and fourth byte of each word from the four quarters.
const COLLECTED: [u8; 64] = {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        places[i] = 16 * (i as u8 % 4) + i as u8 / 4;
        i += 1;
    }
    places
};

impl Zmm {
    /// Byte `BYTE` of each word, multiplied by four matrices over GF(2); the products are the four bytes of a word,
    /// lowest first.
    #[inline(always)]
    pub(crate) fn multiply_byte<const BYTE: u8>(self, matrices: [u64; 4]) -> Self {
        let [a, b, c, d] = matrices;
        // SAFETY: each pair is of 64 bytes, whatever their bits.
        let (spread, collected, matrices) = unsafe {
            (
                core::mem::transmute::<[u8; 64], __m512i>(const { spread(BYTE) }),
                core::mem::transmute::<[u8; 64], __m512i>(COLLECTED),
                core::mem::transmute::<[u64; 8], __m512i>([a, a, b, b, c, c, d, d]),
            )
        };
        let bytes = call!(_mm512_permutexvar_epi8(spread, self.0));
        let products = call!(_mm512_gf2p8affine_epi64_epi8::<0>(bytes, matrices));
        Self(call!(_mm512_permutexvar_epi8(collected, products)))
    }
}

impl Register for Zmm {
    type Cpu = cpu::Avx512;
    type Bytes = [u8; 64];

    #[inline(always)]
    fn to_bytes(self) -> Self::Bytes {
        // SAFETY: both are 64 bytes, whatever their bits.
        unsafe { core::mem::transmute::<__m512i, Self::Bytes>(self.0) }
    }
}

/// `$swapped` gives for each byte of 64 bits its source, so as to reverse the bytes of a word.
macro_rules! lanes {
    ($word:ty: $lanes:literal, $signed:ty, $funnel:ident, $set:ident, $pick:ident, $swapped:literal) => {
        impl Shifts<$word> for Zmm {
            #[inline(always)]
            fn funnel(self, upper: Self, bits: u32) -> Self {
                let bits = call!($set(bits as $signed));
                Self(call!($funnel(self.0, upper.0, bits)))
            }

            #[inline(always)]
            fn swap_bytes(self) -> Self {
                let order = call!(_mm_set_epi64x($swapped + 0x0808_0808_0808_0808, $swapped));
                let order = call!(_mm512_broadcast_i32x4(order));
                Self(call!(_mm512_shuffle_epi8(self.0, order)))
            }
        }

        impl Lanes<$word, $lanes> for Zmm {
            #[inline(always)]
            fn load(_cpu: cpu::Avx512, words: [$word; $lanes]) -> Self {
                // SAFETY: both are 64 bytes, whatever their bits.
                Self(unsafe { core::mem::transmute::<[$word; $lanes], __m512i>(words) })
            }

            #[inline(always)]
            fn zip(self, other: Self) -> (Self, Self) {
                /// Indices that interleave half of each register's lanes, from `first` on. The second register's
                /// indices start at `$lanes`.
                const fn zipped(first: usize) -> [$word; $lanes] {
                    let mut from = [0; $lanes];
                    let mut i = 0;
                    while i < $lanes {
                        from[i] = (first + i / 2 + i % 2 * $lanes) as $word;
                        i += 1;
                    }
                    from
                }
                let [low, high] = const { [zipped(0), zipped($lanes / 2)] }.map(|from| {
                    // SAFETY: both are 64 bytes, whatever their bits.
                    unsafe { core::mem::transmute::<[$word; $lanes], __m512i>(from) }
                });
                (
                    Self(call!($pick(self.0, low, other.0))),
                    Self(call!($pick(self.0, high, other.0))),
                )
            }
        }
    };
}

lanes!(u16: 32, i16, _mm512_shrdv_epi16, _mm512_set1_epi16, _mm512_permutex2var_epi16, 0x0607_0405_0203_0001);
lanes!(u32: 16, i32, _mm512_shrdv_epi32, _mm512_set1_epi32, _mm512_permutex2var_epi32, 0x0405_0607_0001_0203);
lanes!(u64: 8, i64, _mm512_shrdv_epi64, _mm512_set1_epi64, _mm512_permutex2var_epi64, 0x0001_0203_0405_0607);

impl Words for Zmm {
    #[inline(always)]
    fn splat(self, word: u32) -> Self {
        Self(call!(_mm512_set1_epi32(word.cast_signed())))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(call!(_mm512_add_epi32(self.0, other.0)))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(call!(_mm512_sub_epi32(self.0, other.0)))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(call!(_mm512_mullo_epi32(self.0, other.0)))
    }

    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        Self(call!(_mm512_rolv_epi32(self.0, Words::splat(self, bits).0)))
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        Self(call!(_mm512_sllv_epi32(self.0, Words::splat(self, bits).0)))
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        Self(call!(_mm512_srlv_epi32(self.0, Words::splat(self, bits).0)))
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self {
        let less = call!(_mm512_cmplt_epu32_mask(self.0, other.0));
        Self(call!(_mm512_movm_epi32(less)))
    }

    #[inline(always)]
    fn folded_square(self) -> Self {
        let high = Self(call!(_mm512_srli_epi64::<32>(self.0)));
        let even = Self(call!(_mm512_mul_epu32(self.0, self.0)));
        let odd = Self(call!(_mm512_mul_epu32(high.0, high.0)));
        let even = even ^ Self(call!(_mm512_srli_epi64::<32>(even.0)));
        let odd = odd ^ Self(call!(_mm512_slli_epi64::<32>(odd.0)));
        Self(call!(_mm512_mask_blend_epi32(0xAAAA, even.0, odd.0)))
    }

    #[inline(always)]
    fn xor<const N: usize>([a, b, c, d]: [Self; 4], rows: &mut [&mut [u8; N]], at: usize) {
        let low = (
            call!(_mm512_unpacklo_epi32(a.0, b.0)),
            call!(_mm512_unpacklo_epi32(c.0, d.0)),
        );
        let high = (
            call!(_mm512_unpackhi_epi32(a.0, b.0)),
            call!(_mm512_unpackhi_epi32(c.0, d.0)),
        );
        let lanes = [
            call!(_mm512_unpacklo_epi64(low.0, low.1)),
            call!(_mm512_unpackhi_epi64(low.0, low.1)),
            call!(_mm512_unpacklo_epi64(high.0, high.1)),
            call!(_mm512_unpackhi_epi64(high.0, high.1)),
        ];
        for (i, lanes) in lanes.into_iter().enumerate() {
            // SAFETY: both are 64 bytes, whatever their bits.
            let quarters = unsafe { core::mem::transmute::<__m512i, [[u8; 16]; 4]>(lanes) };
            for (j, quarter) in quarters.iter().enumerate() {
                xor_into(&mut rows[4 * j + i][at..at + 16], quarter);
            }
        }
    }
}

impl Bits for Zmm {
    #[inline(always)]
    fn splat(self, word: u64) -> Self {
        Self(call!(_mm512_set1_epi64(word.cast_signed())))
    }

    #[inline(always)]
    fn shift_left(self, bits: u32) -> Self {
        let bits = Bits::splat(self, bits.into());
        Self(call!(_mm512_sllv_epi64(self.0, bits.0)))
    }

    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        let bits = Bits::splat(self, bits.into());
        Self(call!(_mm512_srlv_epi64(self.0, bits.0)))
    }
}
