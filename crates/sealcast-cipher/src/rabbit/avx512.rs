//! Sixteen packets at once.
#![allow(unsafe_code)]

use super::definition::Definition;
use super::lanes::{Lanes, RUN};
use crate::cipher::Kernel;
use crate::cpu;
use crate::registers::Zmm;
use crate::side_by_side::SideBySide;

const LANES: usize = 16;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn gather(cpu: cpu::Avx512, states: &[Definition; LANES]) -> Lanes<Zmm> {
    Lanes::gather(cpu, states)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run(state: &mut Lanes<Zmm>, rows: &mut [[u8; RUN]; LANES]) {
    state.run(rows);
}

impl SideBySide<LANES, RUN> for Lanes<Zmm> {
    type Alone = Definition;
    type Cpu = cpu::Avx512;
    const NAME: &'static str = "avx512";
    const LEAST: usize = 2;

    fn start(cpu: cpu::Avx512, key: &Definition, ivs: &[&[u8]; LANES]) -> Self {
        let mut states = ivs.map(|iv| Definition::start(key, iv));
        // SAFETY: `cpu` proves that the processor has these instructions.
        let lanes = unsafe { gather(cpu, &states) };
        zeroize::Zeroize::zeroize(&mut states);
        lanes
    }

    fn run(&mut self, rows: &mut [[u8; RUN]; LANES]) {
        // SAFETY: the state's registers prove that the processor has these instructions.
        unsafe { run(self, rows) }
    }
}
