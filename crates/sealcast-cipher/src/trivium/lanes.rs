//! Sixty-four clocks per step, in lanes of 64 bits.

use super::{WARM_UP_CLOCKS, Words};
#[cfg(target_arch = "aarch64")]
use crate::interleaved::Batched;
use crate::interleaved::{Rows, Streams};
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
use crate::registers::{Lanes, Shifts, Steps, columns, xor};

/// Two packets in parallel.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<2, 16, Vectors<Quad>>;

/// Two words of each register, as in [`Words::halves`].
pub struct Vectors<V> {
    a: [V; 2],
    b: [V; 2],
    c: [V; 2],
}

/// The word that has passed stage `stage`, counted from the register's own first stage; between the 65th and the
/// 127th.
#[inline(always)]
fn tap<V: Shifts<u64>>(register: [V; 2], stage: u32) -> V {
    let [new, old] = register;
    old.funnel(new, 128 - stage)
}

impl<V: Shifts<u64>> Steps<V> for Vectors<V> {
    #[inline(always)]
    fn step(&mut self) -> V {
        let a = |stage| tap(self.a, stage);
        let b = |stage: u32| tap(self.b, stage - 93);
        let c = |stage: u32| tap(self.c, stage - 177);
        let t1 = a(66) ^ a(93);
        let t2 = b(162) ^ b(177);
        let t3 = c(243) ^ c(288);
        let into_b = t1 ^ (a(91) & a(92)) ^ b(171);
        let into_c = t2 ^ (b(175) & b(176)) ^ c(264);
        let into_a = t3 ^ (c(286) & c(287)) ^ a(69);
        self.a = [into_a, self.a[0]];
        self.b = [into_b, self.b[0]];
        self.c = [into_c, self.c[0]];
        t1 ^ t2 ^ t3
    }
}

impl<const LANES: usize, const RUN: usize, V: Shifts<u64> + Lanes<u64, LANES>> Streams<LANES, RUN> for Vectors<V> {
    type Alone = Words;
    type Cpu = V::Cpu;

    #[inline(always)]
    fn start(cpu: V::Cpu, key: &u128, ivs: &[&[u8]; LANES]) -> Self {
        let [a0, a1, b0, b1, c0, c1] = columns(cpu, ivs, |iv| Words::loaded(key, iv).halves());
        let mut registers = Self {
            a: [a0, a1],
            b: [b0, b1],
            c: [c0, c1],
        };
        for _ in 0..WARM_UP_CLOCKS / 64 {
            registers.step();
        }
        registers
    }

    #[inline(always)]
    fn xor(&mut self, rows: Rows<'_, '_, LANES, RUN>) {
        xor(self.a[0], self, rows);
    }
}
