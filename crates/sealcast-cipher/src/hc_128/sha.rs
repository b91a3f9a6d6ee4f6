//! Set-up with the processor's SHA-256 instructions: the functions f1 and f2 of HC-128 are those of SHA-256's message
//! schedule.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::{FACTS, ROW, Table, Words};
use crate::cipher::Kernel;
use crate::cpu::{self, Cpu};
use crate::sizes::Facts;

/// [`Words`] with a faster set-up.
#[derive(Zeroize)]
pub struct Sha(Words);

/// The key, and the proof that the instructions exist.
#[derive(Zeroize)]
pub struct Key {
    key: [u8; 16],
    cpu: cpu::Sha,
}

/// As [`super::fill`].
fn fill(_cpu: cpu::Sha, key: &[u8; 16], iv: &[u8; 16]) -> (Table, Table) {
    #[target_feature(enable = "sha,ssse3")]
    fn fill(key: &[u8; 16], iv: &[u8; 16]) -> (Table, Table) {
        let load = |bytes: &[u8; 16]| {
            // SAFETY: the array has the 16 bytes that are read; they need no alignment.
            unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
        };
        let (key, iv) = (load(key), load(iv));
        let mut w = [key, key, iv, iv];
        let mut place = _mm_setr_epi32(16, 17, 18, 19);
        let four = _mm_set1_epi32(4);
        let mut next_row = || {
            for _ in 0..4 {
                let [back_16, back_12, back_8, back_4] = w;
                let back_7 = _mm_alignr_epi8::<4>(back_4, back_8);
                let sum = _mm_add_epi32(_mm_sha256msg1_epu32(back_16, back_12), _mm_add_epi32(back_7, place));
                w = [back_12, back_8, back_4, _mm_sha256msg2_epu32(sum, back_4)];
                place = _mm_add_epi32(place, four);
            }
            // SAFETY: both are sixteen words, whatever their bits.
            unsafe { core::mem::transmute::<[__m128i; 4], [u32; ROW]>(w) }
        };
        // W_16 to W_255 are not used.
        for _ in 1..16 {
            next_row();
        }
        let (mut p, mut q) = ([[0; ROW]; 32], [[0; ROW]; 32]);
        for words in p.iter_mut().chain(&mut q) {
            *words = next_row();
        }
        (p, q)
    }
    // SAFETY: `cpu` proves that the processor has these instructions.
    unsafe { fill(key, iv) }
}

impl Kernel for Sha {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "sha";
    type Key = Key;
    type Block = <Words as Kernel>::Block;

    fn available() -> bool {
        cpu::Sha::detect().is_some()
    }

    fn expand(key: &[u8]) -> Self::Key {
        Key {
            key: Words::expand(key),
            cpu: cpu::Sha::detect().expect("Cipher::new asked whether the kernel is available"),
        }
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let iv = iv.try_into().expect("the IV has the size in FACTS");
        let (p, q) = fill(key.cpu, &key.key, iv);
        Self(Words::set_up(p, q))
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        self.0.step()
    }
}
