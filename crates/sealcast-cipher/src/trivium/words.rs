//! Sixty-four clocks per step: no bit is used before it has moved 66 stages, so 64 can be computed at once.

use zeroize::Zeroize;

use super::{FACTS, WARM_UP_CLOCKS};
use crate::cipher::Kernel;
use crate::number;
use crate::sizes::Facts;

/// The stages of each register, the last one in bit 0, so that a clock is a right shift.
#[derive(Zeroize)]
pub struct Words {
    /// s_1 to s_93.
    a: u128,
    /// s_94 to s_177.
    b: u128,
    /// s_178 to s_288.
    c: u128,
}

impl Words {
    /// The state before the first clock.
    #[inline(always)]
    pub(super) fn loaded(key: &u128, iv: &[u8]) -> Self {
        Self {
            a: *key,
            b: number::little_endian(iv) << (84 - 8 * iv.len()),
            c: 0b111,
        }
    }

    /// Two words of each register: the first has the 64 stages that entered last, the latest in the most significant
    /// bit; the second has the stages before them.
    #[inline(always)]
    pub(super) fn halves(&self) -> [u64; 6] {
        let [a, b, c] = [self.a << (128 - 93), self.b << (128 - 84), self.c << (128 - 111)];
        [a >> 64, a, b >> 64, b, c >> 64, c].map(|word| word as u64)
    }

    /// 64 bits of keystream, the first in bit 0.
    #[inline(always)]
    fn clock_64(&mut self) -> u64 {
        let a = |stage: u32| (self.a >> (93 - stage)) as u64;
        let b = |stage: u32| (self.b >> (177 - stage)) as u64;
        let c = |stage: u32| (self.c >> (288 - stage)) as u64;
        let t1 = a(66) ^ a(93);
        let t2 = b(162) ^ b(177);
        let t3 = c(243) ^ c(288);
        let into_b = t1 ^ (a(91) & a(92)) ^ b(171);
        let into_c = t2 ^ (b(175) & b(176)) ^ c(264);
        let into_a = t3 ^ (c(286) & c(287)) ^ a(69);
        self.a = self.a >> 64 | u128::from(into_a) << (93 - 64);
        self.b = self.b >> 64 | u128::from(into_b) << (84 - 64);
        self.c = self.c >> 64 | u128::from(into_c) << (111 - 64);
        t1 ^ t2 ^ t3
    }
}

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    /// Register A's initial value.
    type Key = u128;
    type Block = [u8; 8];

    fn expand(key: &[u8]) -> Self::Key {
        number::little_endian(key) << (93 - 80)
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let mut state = Self::loaded(key, iv);
        for _ in 0..WARM_UP_CLOCKS / 64 {
            state.clock_64();
        }
        state
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        self.clock_64().to_le_bytes()
    }
}
