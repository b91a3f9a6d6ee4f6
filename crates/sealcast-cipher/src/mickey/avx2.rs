//! 256 packets at once.
#![allow(unsafe_code)]

use super::Version;
use super::slices::{RUN, Slices};
use super::words::Words;
use crate::cpu;
use crate::registers::Ymm;
use crate::side_by_side::SideBySide;

const LANES: usize = 256;

#[target_feature(enable = "avx2")]
fn start<V: Version>(cpu: cpu::Avx2, key: &[u8; 10], ivs: &[&[u8]; LANES]) -> Slices<V, Ymm> {
    Slices::start(cpu, key, ivs)
}

#[target_feature(enable = "avx2")]
fn run<V: Version>(state: &mut Slices<V, Ymm>, rows: &mut [[u8; RUN]; LANES]) {
    state.run(rows);
}

impl<V: Version> SideBySide<LANES, RUN> for Slices<V, Ymm> {
    type Alone = Words<V>;
    type Cpu = cpu::Avx2;
    const NAME: &'static str = "avx2";
    const LEAST: usize = 10;

    fn start(cpu: cpu::Avx2, key: &[u8; 10], ivs: &[&[u8]; LANES]) -> Self {
        // SAFETY: `cpu` proves that the processor has these instructions.
        unsafe { start(cpu, key, ivs) }
    }

    fn run(&mut self, rows: &mut [[u8; RUN]; LANES]) {
        // SAFETY: the state's registers prove that the processor has these instructions.
        unsafe { run(self, rows) }
    }
}
