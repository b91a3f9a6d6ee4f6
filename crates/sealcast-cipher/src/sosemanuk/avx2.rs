//! Eight packets at once. The tables of the field are looked up by gathering.
#![allow(unsafe_code)]

use super::clocks::{self, RUN};
use super::field::{ALPHA, Field, INVERSE};
use super::words::Words;
use super::{State, serpent};
use crate::cpu;
use crate::registers::{self, Ymm};
use crate::side_by_side::SideBySide;

const LANES: usize = 8;

impl Field for Ymm {
    #[inline(always)]
    fn times_alpha(self) -> Self {
        let left = registers::Words::shift_right(self, 24);
        registers::Words::shift_left(self, 8) ^ left.look_up(&ALPHA)
    }

    #[inline(always)]
    fn over_alpha(self) -> Self {
        let left = self & registers::Words::splat(self, 0xFF);
        registers::Words::shift_right(self, 8) ^ left.look_up(&INVERSE)
    }
}

#[target_feature(enable = "avx2")]
fn start(cpu: cpu::Avx2, key: &serpent::Keys, blocks: &[[u32; LANES]; 4]) -> State<Ymm> {
    super::inject(key, blocks.each_ref().map(|words| registers::Words::load(cpu, words)))
}

#[target_feature(enable = "avx2")]
fn run(state: &mut State<Ymm>, rows: &mut [[u8; RUN]; LANES]) {
    clocks::run(state, rows);
}

impl SideBySide<LANES, RUN> for State<Ymm> {
    type Alone = Words;
    type Cpu = cpu::Avx2;
    const NAME: &'static str = "avx2";
    const LEAST: usize = 2;

    fn start(cpu: cpu::Avx2, key: &serpent::Keys, ivs: &[&[u8]; LANES]) -> Self {
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
