//! Sixteen clocks a step, in lanes of 16 bits.

use super::words::Register as Stages;
use super::{WARM_UP_CLOCKS, Words};
use crate::registers::{Lanes, Shifts, Steps, columns, xor};
use crate::side_by_side::{Rows, Streams};

/// A register in five words. The first stage is the lowest bit of the first one.
#[derive(Clone, Copy)]
struct Register<V>([V; 5]);

/// The registers.
pub struct Vectors<V> {
    nfsr: Register<V>,
    lfsr: Register<V>,
    /// What [`Register::lasting_b`] gave one, two and three steps ago.
    lasting_b: [[V; 6]; 3],
    /// The same for [`Register::lasting_s`].
    lasting_s: [[V; 2]; 3],
}

impl<V: Shifts<u16>> Register<V> {
    /// Stages `first` to `first + 15`.
    #[inline(always)]
    fn at(self, first: u32) -> V {
        let (word, bits) = ((first / 16) as usize, first % 16);
        if bits == 0 {
            self.0[word]
        } else {
            self.0[word].funnel(self.0[word + 1], bits)
        }
    }

    /// The taps of the nonlinear register that are taps again up to three steps later, 16, 32 or 48 stages on. They are
    /// shifted into place once, when their stages come within reach: shifts are what the time goes to.
    #[inline(always)]
    fn lasting_b(self) -> [V; 6] {
        let b = self;
        [b.at(33), b.at(52), b.at(37), b.at(60), b.at(62), b.at(63)]
    }

    /// The same for the linear register.
    #[inline(always)]
    fn lasting_s(self) -> [V; 2] {
        [self.at(51), self.at(62)]
    }

    /// 16 clocks later; `entering` are the last stages.
    #[inline(always)]
    fn shifted(self, entering: V) -> Self {
        let Self([_, second, third, fourth, last]) = self;
        Self([second, third, fourth, last, entering])
    }
}

impl<V: Shifts<u16>> Vectors<V> {
    /// 16 bits of output of each packet, the first one in bit 0; while warming up, it is fed back.
    #[inline(always)]
    fn clock(&mut self, warming_up: bool) -> V {
        let (b, s) = (self.nfsr, self.lfsr);
        let (lasting_b, lasting_s) = (b.lasting_b(), s.lasting_s());
        let [b33, b52, b37, b60, b62, b63] = lasting_b;
        let [_, _, b21, ..] = self.lasting_b[0];
        let [b1, _, _, b28, _, b31] = self.lasting_b[1];
        let [_, b4, _, _, b14, b15] = self.lasting_b[2];
        let ([s51, s62], [_, s46], [s3, _]) = (lasting_s, self.lasting_s[0], self.lasting_s[2]);
        let (b9, b45) = (b.at(9), b.at(45));

        let (x0, x1, x2, x3, x4) = (s3, s.at(25), s46, s.at(64), b63);
        let h = x1 ^ x4 ^ (x3 & (x0 ^ x2 ^ x4)) ^ (x2 & ((x0 & (x1 ^ x3 ^ x4)) ^ (x4 & (x1 ^ x3))));
        let z = h ^ b1 ^ b.at(2) ^ b4 ^ b.at(10) ^ b31 ^ b.at(43) ^ b.at(56);
        let f = s62 ^ s51 ^ s.at(38) ^ s.at(23) ^ s.at(13) ^ s.at(0);
        let linear = b62 ^ b60 ^ b52 ^ b45 ^ b37 ^ b33 ^ b28 ^ b21 ^ b14 ^ b9 ^ b.at(0);
        let (b63_60, b52_45, b37_33, b28_21) = (b63 & b60, b52 & b45, b37 & b33, b28 & b21);
        // The paper's products, gathered; x | y is x ^ y ^ (x & y).
        let products = (b60 & (b63 ^ b52_45))
            ^ b37_33
            ^ ((b33 & b28_21) | (b15 & b9))
            ^ (b37_33 & ((b60 & b52) ^ (b52_45 & b28_21)))
            ^ (b63_60 & ((b21 & b15) ^ (b52_45 & b37)))
            ^ (b63 & b45 & b28 & b9);
        let g = s.at(0) ^ linear ^ products;
        let (into_b, into_s) = if warming_up { (g ^ z, f ^ z) } else { (g, f) };

        let ([b_1, b_2, _], [s_1, s_2, _]) = (self.lasting_b, self.lasting_s);
        *self = Self {
            nfsr: b.shifted(into_b),
            lfsr: s.shifted(into_s),
            lasting_b: [lasting_b, b_1, b_2],
            lasting_s: [lasting_s, s_1, s_2],
        };
        z
    }
}

impl<V: Shifts<u16>> Steps<V> for Vectors<V> {
    #[inline(always)]
    fn step(&mut self) -> V {
        self.clock(false)
    }
}

impl<const LANES: usize, const RUN: usize, V: Shifts<u16> + Lanes<u16, LANES>> Streams<LANES, RUN> for Vectors<V> {
    type Alone = Words;
    type Cpu = V::Cpu;

    #[inline(always)]
    fn start(cpu: V::Cpu, key: &Stages, ivs: &[&[u8]; LANES]) -> Self {
        let [b0, b1, b2, b3, b4, s0, s1, s2, s3, s4] = columns(cpu, ivs, |iv| load(key, iv));
        // The registers as they would have been, as far as lasting taps are read: what is before their beginning is
        // not.
        let b_ago = [[b0, b0, b1, b2, b3], [b0, b0, b0, b1, b2], [b0, b0, b0, b0, b1]].map(Register);
        let s_ago = [[s0, s0, s1, s2, s3], [s0, s0, s0, s1, s2], [s0, s0, s0, s0, s1]].map(Register);
        let mut registers = Self {
            nfsr: Register([b0, b1, b2, b3, b4]),
            lfsr: Register([s0, s1, s2, s3, s4]),
            lasting_b: [b_ago[0].lasting_b(), b_ago[1].lasting_b(), b_ago[2].lasting_b()],
            lasting_s: [s_ago[0].lasting_s(), s_ago[1].lasting_s(), s_ago[2].lasting_s()],
        };
        for _ in 0..WARM_UP_CLOCKS / 16 {
            registers.clock(true);
        }
        registers
    }

    #[inline(always)]
    fn xor(&mut self, rows: Rows<'_, '_, LANES, RUN>) {
        xor(self.lasting_s[0][0], self, rows);
    }
}

/// The words of both registers for one packet, before the first clock.
#[inline(always)]
fn load(key: &Stages, iv: &[u8]) -> [u16; 10] {
    let Words { nfsr, lfsr } = Words::loaded(key, iv);
    let [b, s] = [nfsr, lfsr].map(|register| [0, 16, 32, 48, 64].map(|first| register.tap(first)));
    core::array::from_fn(|i| if i < 5 { b[i] } else { s[i - 5] })
}
