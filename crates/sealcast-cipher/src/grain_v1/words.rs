//! Sixteen clocks per step: the highest taps are b_{i+63} and s_{i+64}, 16 stages before a new bit enters.

use zeroize::Zeroize;

use super::{FACTS, WARM_UP_CLOCKS};
use crate::cipher::Kernel;
use crate::number;
use crate::sizes::Facts;

/// The registers.
#[derive(Zeroize)]
pub struct Words {
    pub(super) nfsr: Register,
    pub(super) lfsr: Register,
}

/// Stages 0 to 63, and 16 to 79. Any 16 adjacent stages are within one of the two words, so one shift reads them.
#[derive(Clone, Copy, Zeroize)]
pub struct Register([u64; 2]);

impl Register {
    fn new(stages: u128) -> Self {
        Self([stages as u64, (stages >> 16) as u64])
    }

    /// Stages `first` to `first + 15`.
    #[inline(always)]
    pub(super) fn tap(self, first: u32) -> u16 {
        let Self([low, high]) = self;
        if first <= 48 {
            (low >> first) as u16
        } else {
            (high >> (first - 16)) as u16
        }
    }

    /// All stages.
    #[inline(always)]
    pub(super) fn words(self) -> [u16; 5] {
        [self.tap(0), self.tap(16), self.tap(32), self.tap(48), self.tap(64)]
    }

    /// Advances by 16 clocks; `entering` become the last stages.
    #[inline(always)]
    fn shift(&mut self, entering: u16) {
        let Self([_, high]) = *self;
        *self = Self([high, high >> 16 | u64::from(entering) << 48]);
    }
}

impl Words {
    /// The state before the first clock.
    #[inline(always)]
    pub(super) fn loaded(key: &Register, iv: &[u8]) -> Self {
        Self {
            nfsr: *key,
            lfsr: Register::new(0xFFFF << 64 | number::little_endian(iv)),
        }
    }

    /// 16 bits of output, the first in bit 0.
    #[inline(always)]
    fn output(&self) -> u16 {
        let b = |first| self.nfsr.tap(first);
        let s = |first| self.lfsr.tap(first);
        let (x0, x1, x2, x3, x4) = (s(3), s(25), s(46), s(64), b(63));
        // The function h, with its products factored by x2 and x3.
        let h = x1 ^ x4 ^ (x3 & (x0 ^ x2 ^ x4)) ^ (x2 & ((x0 & (x1 ^ x3 ^ x4)) ^ (x4 & (x1 ^ x3))));
        h ^ b(1) ^ b(2) ^ b(4) ^ b(10) ^ b(31) ^ b(43) ^ b(56)
    }

    #[inline(always)]
    fn clock_16(&mut self, fed_back: u16) {
        let b = |first| self.nfsr.tap(first);
        let s = |first| self.lfsr.tap(first);
        let f = s(62) ^ s(51) ^ s(38) ^ s(23) ^ s(13) ^ s(0);
        let linear = b(62) ^ b(60) ^ b(52) ^ b(45) ^ b(37) ^ b(33) ^ b(28) ^ b(21) ^ b(14) ^ b(9) ^ b(0);
        let (b63_60, b52_45, b37_33, b28_21) = (b(63) & b(60), b(52) & b(45), b(37) & b(33), b(28) & b(21));
        // The paper's products, factored; x | y is x ^ y ^ (x & y).
        let products = (b(60) & (b(63) ^ b52_45))
            ^ b37_33
            ^ ((b(33) & b28_21) | (b(15) & b(9)))
            ^ (b37_33 & ((b(60) & b(52)) ^ (b52_45 & b28_21)))
            ^ (b63_60 & ((b(21) & b(15)) ^ (b52_45 & b(37))))
            ^ (b(63) & b(45) & b(28) & b(9));
        let g = s(0) ^ linear ^ products;
        self.nfsr.shift(g ^ fed_back);
        self.lfsr.shift(f ^ fed_back);
    }
}

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    /// The nonlinear register's initial value.
    type Key = Register;
    type Block = [u8; 8];

    fn expand(key: &[u8]) -> Self::Key {
        Register::new(number::little_endian(key))
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let mut state = Self::loaded(key, iv);
        for _ in 0..WARM_UP_CLOCKS / 16 {
            state.clock_16(state.output());
        }
        state
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let mut block = 0;
        for i in 0..4 {
            block |= u64::from(self.output()) << (16 * i);
            self.clock_16(0);
        }
        block.to_le_bytes()
    }
}
