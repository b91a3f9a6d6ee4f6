//! Sixteen packets at once. A byte times a constant is linear, so matrices take the place of the
//! field's tables, and nothing is looked up by a secret.
#![allow(unsafe_code)]

use super::clocks::{self, RUN};
use super::field::{ALPHA, Field, INVERSE};
use super::words::Words;
use super::{State, serpent};
use crate::cpu;
use crate::registers::{self, Zmm};
use crate::side_by_side::SideBySide;

const LANES: usize = 16;

/// What a table multiplies with, as a matrix over GF(2) for each byte of the product: byte 7 - i of a matrix has the
/// bits of the factor that bit i is the sum of.
const fn matrices(table: &[u32; 256]) -> [u64; 4] {
    let mut matrices = [0; 4];
    let mut bit = 0;
    while bit < 32 {
        let mut factor = 0;
        while factor < 8 {
            let one = (table[1 << factor] >> bit & 1) as u64;
            matrices[bit / 8] |= one << (8 * (7 - bit % 8) + factor);
            factor += 1;
        }
        bit += 1;
    }
    matrices
}

const TIMES_ALPHA: [u64; 4] = matrices(&ALPHA);
const OVER_ALPHA: [u64; 4] = matrices(&INVERSE);

impl Field for Zmm {
    #[inline(always)]
    fn times_alpha(self) -> Self {
        registers::Words::shift_left(self, 8) ^ self.multiply_byte::<3>(TIMES_ALPHA)
    }

    #[inline(always)]
    fn over_alpha(self) -> Self {
        registers::Words::shift_right(self, 8) ^ self.multiply_byte::<0>(OVER_ALPHA)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
fn start(cpu: cpu::Avx512, key: &serpent::Keys, blocks: &[[u32; LANES]; 4]) -> State<Zmm> {
    super::inject(key, blocks.each_ref().map(|words| registers::Words::load(cpu, words)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
fn run(state: &mut State<Zmm>, rows: &mut [[u8; RUN]; LANES]) {
    clocks::run(state, rows);
}

impl SideBySide<LANES, RUN> for State<Zmm> {
    type Alone = Words;
    type Cpu = cpu::Avx512;
    const NAME: &'static str = "avx512";
    const LEAST: usize = 2;

    fn start(cpu: cpu::Avx512, key: &serpent::Keys, ivs: &[&[u8]; LANES]) -> Self {
        let blocks = ivs.map(super::padded);
        let words = core::array::from_fn(|word| blocks.map(|block| block[word]));
        // SAFETY: `cpu` proves that the processor has these instructions.
        unsafe { start(cpu, key, &words) }
    }

    fn run(&mut self, rows: &mut [[u8; RUN]; LANES]) {
        // SAFETY: the state's registers prove that the processor has these instructions.
        unsafe { run(self, rows) }
    }
}
