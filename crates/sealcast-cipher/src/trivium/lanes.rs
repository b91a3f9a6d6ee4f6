//! Sixty-four clocks a step, in lanes of 64 bits.

use super::{WARM_UP_CLOCKS, Words};
use crate::lanes::{InstructionSet, Lanes, Registers, SideBySide};

/// Of each register two words, as [`Words::halves`] has them.
pub struct Vectors<V> {
    a: [V; 2],
    b: [V; 2],
    c: [V; 2],
}

/// The word that has passed stage `stage`, counted from the register's own first one: between the 65th and the 127th.
#[inline(always)]
fn tap<V: Lanes>(register: [V; 2], stage: u32) -> V {
    let [new, old] = register;
    old.funnel(new, 128 - stage)
}

impl<V: Lanes> Registers<V> for Vectors<V> {
    #[inline(always)]
    fn start(words: &[V]) -> Self {
        let mut registers = Self {
            a: [words[0], words[1]],
            b: [words[2], words[3]],
            c: [words[4], words[5]],
        };
        for _ in 0..WARM_UP_CLOCKS / 64 {
            registers.step();
        }
        registers
    }

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

impl SideBySide for Words {
    type Word = u64;
    type Loaded = [u64; 6];
    type Lanes<S: InstructionSet> = S::U64;
    type Registers<S: InstructionSet> = Vectors<S::U64>;

    #[inline(always)]
    fn load(key: &Self::Key, iv: &[u8]) -> Self::Loaded {
        Self::loaded(key, iv).halves()
    }
}
