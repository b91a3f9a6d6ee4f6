//! Thirty-two clocks per step: the highest taps are b_{i+96} and s_{i+96}, 32 stages before a new bit enters.

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

/// Stages 0 to 63, 32 to 95 and 64 to 127. Any 32 adjacent stages are within one of the three words, so one shift
/// reads them. The first stage is the most significant bit, which is the paper's order, so loading and storing need
/// no reversal.
#[derive(Clone, Copy, Zeroize)]
pub struct Register([u64; 3]);

impl Register {
    fn new(stages: u128) -> Self {
        Self([64, 32, 0].map(|shift| (stages >> shift) as u64))
    }

    /// Stages `first` to `first + 31`.
    #[inline(always)]
    pub(super) fn tap(self, first: u32) -> u32 {
        let Self([low, middle, high]) = self;
        match first {
            0..=32 => (low >> (32 - first)) as u32,
            33..=64 => (middle >> (64 - first)) as u32,
            _ => (high >> (96 - first)) as u32,
        }
    }

    /// All stages.
    #[inline(always)]
    pub(super) fn words(self) -> [u32; 4] {
        [self.tap(0), self.tap(32), self.tap(64), self.tap(96)]
    }

    /// Advances by 32 clocks; `entering` become the last stages.
    #[inline(always)]
    fn shift(&mut self, entering: u32) {
        let Self([_, middle, high]) = *self;
        *self = Self([middle, high, high << 32 | u64::from(entering)]);
    }
}

impl Words {
    /// The state before the first clock.
    #[inline(always)]
    pub(super) fn loaded(key: &Register, iv: &[u8]) -> Self {
        Self {
            nfsr: *key,
            lfsr: Register::new(number::big_endian(iv) << 32 | 0xFFFF_FFFE),
        }
    }

    /// 32 bits of pre-output, the first in bit 31.
    #[inline(always)]
    fn pre_output(&self) -> u32 {
        let b = |first| self.nfsr.tap(first);
        let s = |first| self.lfsr.tap(first);
        let h = (b(12) & (s(8) ^ (b(95) & s(94)))) ^ (s(13) & s(20)) ^ (b(95) & s(42)) ^ (s(60) & s(79));
        h ^ s(93) ^ b(2) ^ b(15) ^ b(36) ^ b(45) ^ b(64) ^ b(73) ^ b(89)
    }

    #[inline(always)]
    fn clock_32(&mut self, fed_back: u32) {
        let b = |first| self.nfsr.tap(first);
        let s = |first| self.lfsr.tap(first);
        let f = s(0) ^ s(7) ^ s(38) ^ s(70) ^ s(81) ^ s(96);
        let linear = b(0) ^ b(26) ^ b(56) ^ b(91) ^ b(96);
        let products = (b(3) & b(67))
            ^ (b(11) & b(13))
            ^ (b(17) & b(18))
            ^ (b(27) & b(59))
            ^ (b(40) & b(48))
            ^ (b(61) & b(65))
            ^ (b(68) & b(84))
            ^ (b(88) & b(92) & b(93) & b(95))
            ^ (b(22) & b(24) & b(25))
            ^ (b(70) & b(78) & b(82));
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
        Register::new(number::big_endian(key))
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let mut state = Self::loaded(key, iv);
        for _ in 0..WARM_UP_CLOCKS / 32 {
            state.clock_32(state.pre_output());
        }
        state
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let mut block = 0;
        for _ in 0..2 {
            block = block << 32 | u64::from(self.pre_output());
            self.clock_32(0);
        }
        block.to_be_bytes()
    }
}
