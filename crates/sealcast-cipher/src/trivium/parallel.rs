//! A single packet, sixty-four clocks per step. The three registers are lanes of one vector, since their update
//! formulas have the same form.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::lanes::Vectors as Lanes;
use super::{FACTS, WARM_UP_CLOCKS, Words};
use crate::cipher::{Kernel, Packet};
use crate::cpu::{self, Cpu};
use crate::interleaved::Batched;
use crate::registers::{Ymm, Zmm};
use crate::sizes::Facts;

/// Four packets in parallel, or the three registers of one.
pub type Avx2 = Parallel<cpu::Avx2>;
/// Eight packets in parallel, or the three registers of one.
pub type Avx512 = Parallel<cpu::Avx512>;
/// Steps per output, so that the cost of loading and storing the registers is negligible.
const STEPS: usize = 8;

/// A processor with vectors of four lanes; the value proves that it has them.
pub trait Vectors: Cpu {
    /// The kernel for batches.
    type Batch: Kernel;

    /// The keystream of `N` steps.
    fn steps<const N: usize>(self, registers: &mut Registers) -> [u64; N];
}

/// A, B and C in three lanes; the fourth is zero.
#[derive(Zeroize)]
pub struct Registers {
    /// The 64 stages that entered last, the latest in the most significant bit.
    new: [u64; 4],
    /// The 64 before those.
    old: [u64; 4],
}

/// Trivium with its registers in parallel; another kernel handles batches.
#[derive(Zeroize)]
pub struct Parallel<S: Vectors> {
    registers: Registers,
    set: S,
}

/// The key, also in the form for batches.
#[derive(Zeroize)]
pub struct Key<S: Vectors> {
    alone: <Words as Kernel>::Key,
    batch: <S::Batch as Kernel>::Key,
    set: S,
}

impl<S: Vectors> Kernel for Parallel<S> {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = S::Batch::NAME;
    type Key = Key<S>;
    type Block = [u8; 8 * STEPS];

    fn available() -> bool {
        S::detect().is_some()
    }

    fn expand(key: &[u8]) -> Self::Key {
        Key {
            alone: Words::expand(key),
            batch: S::Batch::expand(key),
            set: S::detect().expect("Cipher::new asked whether the kernel is available"),
        }
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let [a, a_old, b, b_old, c, c_old] = Words::loaded(&key.alone, iv).halves();
        let mut registers = Registers {
            new: [a, b, c, 0],
            old: [a_old, b_old, c_old, 0],
        };
        key.set.steps::<{ WARM_UP_CLOCKS / 64 }>(&mut registers);
        Self {
            registers,
            set: key.set,
        }
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let mut block = [0; 8 * STEPS];
        let keystream = self.set.steps::<STEPS>(&mut self.registers);
        for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(keystream) {
            *bytes = word.to_le_bytes();
        }
        block
    }

    fn xor_batch(key: &Self::Key, packets: &mut [Packet<'_>]) {
        S::Batch::xor_batch(&key.batch, packets);
    }
}

/// [`Vectors`] for a processor with these features. `tap` gives for each register the 64 bits that pass a stage,
/// counted from the register's own first stage.
macro_rules! vectors {
    ($cpu:ty, $batch:ty, $features:literal, $tap:expr) => {
        impl Vectors for $cpu {
            type Batch = $batch;

            #[inline(always)]
            fn steps<const N: usize>(self, registers: &mut Registers) -> [u64; N] {
                #[target_feature(enable = $features)]
                fn steps<const N: usize>(registers: &mut Registers) -> [u64; N] {
                    let load = |words: &[u64; 4]| {
                        // SAFETY: the array has the 32 bytes that are read; they need no alignment.
                        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
                    };
                    let store = |words: &mut [u64; 4], lanes| {
                        // SAFETY: the array has room for the 32 bytes that are written; they need no alignment.
                        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), lanes) }
                    };
                    let (mut new, mut old) = (load(&registers.new), load(&registers.old));
                    let keystream = core::array::from_fn(|_| {
                        let tap = |a, b, c| $tap(new, old, [a, b, c]);
                        let t = _mm256_xor_si256(tap(66, 69, 66), tap(93, 84, 111));
                        let product = _mm256_and_si256(tap(91, 82, 109), tap(92, 83, 110));
                        let own = tap(69, 78, 87);
                        // A's output enters B, B's enters C, and C's enters A.
                        let passed = _mm256_permute4x64_epi64::<0b11_01_00_10>(_mm256_xor_si256(t, product));
                        (new, old) = (_mm256_xor_si256(passed, own), new);

                        let halves = _mm_xor_si128(_mm256_castsi256_si128(t), _mm256_extracti128_si256::<1>(t));
                        let sum = _mm_xor_si128(halves, _mm_unpackhi_epi64(halves, halves));
                        _mm_cvtsi128_si64(sum).cast_unsigned()
                    });
                    store(&mut registers.new, new);
                    store(&mut registers.old, old);
                    keystream
                }
                // SAFETY: `self` proves that the processor has these features.
                unsafe { steps(registers) }
            }
        }
    };
}

vectors!(cpu::Avx2, Batched<4, 32, Lanes<Ymm>>, "avx2", |new, old, [a, b, c]: [i64; 3]| {
    let down = _mm256_srlv_epi64(old, _mm256_setr_epi64x(128 - a, 128 - b, 128 - c, 0));
    let up = _mm256_sllv_epi64(new, _mm256_setr_epi64x(a - 64, b - 64, c - 64, 0));
    _mm256_or_si256(down, up)
});

vectors!(
    cpu::Avx512,
    Batched<8, 64, Lanes<Zmm>>,
    "avx2,avx512f,avx512vl,avx512vbmi2",
    |new, old, [a, b, c]: [i64; 3]| _mm256_shldv_epi64(new, old, _mm256_setr_epi64x(a - 64, b - 64, c - 64, 0))
);
