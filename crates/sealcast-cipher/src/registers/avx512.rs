//! Registers of 512 bits, as far as AVX-512 goes.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::ops::{BitAnd, BitXor, Not};

use zeroize::Zeroize;

use super::{Bits, Cpu, Words};
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

impl Cpu for cpu::Avx512 {
    fn detect() -> Option<Self> {
        Self::detect()
    }
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

impl Not for Zmm {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        self ^ Words::splat(self, u32::MAX)
    }
}

/// Where [`Zmm::multiply_byte`] finds byte `byte` of each of the sixteen words: all of them, four times.
const fn spread(byte: u8) -> [u8; 64] {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        places[i] = 4 * (i as u8 % 16) + byte;
        i += 1;
    }
    places
}

/// The other way round: the first, second, third and fourth of each word from the four quarters.
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
    /// Byte `BYTE` of each word, multiplied by four matrices over GF(2), as the four bytes of a word, the lowest first.
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

impl Words for Zmm {
    type Cpu = cpu::Avx512;

    #[inline(always)]
    fn load(_cpu: Self::Cpu, words: &[u32]) -> Self {
        let words: [u32; 16] = words[..16].try_into().expect("cut to this length");
        // SAFETY: both are 16 words, whatever their bits.
        Self(unsafe { core::mem::transmute::<[u32; 16], __m512i>(words) })
    }

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
    fn write<const N: usize>([a, b, c, d]: [Self; 4], rows: &mut [[u8; N]], at: usize) {
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
                rows[4 * j + i][at..at + 16].copy_from_slice(quarter);
            }
        }
    }
}

impl Bits for Zmm {
    const WORDS: usize = 8;

    type Cpu = cpu::Avx512;

    #[inline(always)]
    fn load(_cpu: Self::Cpu, words: &[u64]) -> Self {
        let words: [u64; 8] = words[..8].try_into().expect("cut to this length");
        // SAFETY: both are 8 words, whatever their bits.
        Self(unsafe { core::mem::transmute::<[u64; 8], __m512i>(words) })
    }

    #[inline(always)]
    fn splat(self, word: u64) -> Self {
        Self(call!(_mm512_set1_epi64(word.cast_signed())))
    }

    #[inline(always)]
    fn word(self, i: usize) -> u64 {
        // SAFETY: both are 8 words, whatever their bits.
        let words = unsafe { core::mem::transmute::<__m512i, [u64; 8]>(self.0) };
        words[i]
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
