//! 512 packets at once.
#![allow(unsafe_code)]

use super::Version;
use super::slices::{RUN, Slices};
use super::words::Words;
use crate::cpu;
use crate::registers::Zmm;
use crate::side_by_side::SideBySide;

const LANES: usize = 512;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn start<V: Version>(cpu: cpu::Avx512, key: &[u8; 10], ivs: &[&[u8]; LANES]) -> Slices<V, Zmm> {
    Slices::start(cpu, key, ivs)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run<V: Version>(state: &mut Slices<V, Zmm>, rows: &mut [[u8; RUN]; LANES]) {
    state.run(rows);
}

impl<V: Version> SideBySide<LANES, RUN> for Slices<V, Zmm> {
    type Alone = Words<V>;
    type Cpu = cpu::Avx512;
    const NAME: &'static str = "avx512";
    const LEAST: usize = 14;

    fn start(cpu: cpu::Avx512, key: &[u8; 10], ivs: &[&[u8]; LANES]) -> Self {
        // SAFETY: `cpu` proves that the processor has these instructions.
        unsafe { start(cpu, key, ivs) }
    }

    fn run(&mut self, rows: &mut [[u8; RUN]; LANES]) {
        // SAFETY: the state's registers prove that the processor has these instructions.
        unsafe { run(self, rows) }
    }
}
