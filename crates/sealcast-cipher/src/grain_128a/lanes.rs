//! Thirty-two clocks a step, in lanes of 32 bits.

use super::words::Register as Stages;
use super::{WARM_UP_CLOCKS, Words};
use crate::registers::{Lanes, Shifts, Steps, columns, xor};
use crate::side_by_side::{Rows, Streams};

/// A register in four words. The first stage is the highest bit of the first one.
#[derive(Clone, Copy)]
struct Register<V>([V; 4]);

/// The registers.
pub struct Vectors<V> {
    nfsr: Register<V>,
    lfsr: Register<V>,
    /// What [`Register::lasting`] gave one step and two steps ago.
    lasting: [[V; 8]; 2],
    /// s_70 one step ago.
    s38: V,
}

impl<V: Shifts<u32>> Register<V> {
    /// Stages `first` to `first + 31`.
    #[inline(always)]
    fn at(self, first: u32) -> V {
        let (word, bits) = ((first / 32) as usize, first % 32);
        if bits == 0 {
            self.0[word]
        } else {
            self.0[word + 1].funnel(self.0[word], 32 - bits)
        }
    }

    /// The taps of the nonlinear register that are taps again one or two steps later, 32 or 64 stages on. They are
    /// shifted into place once, when their stages come within reach: shifts are what the time goes to.
    #[inline(always)]
    fn lasting(self) -> [V; 8] {
        let b = self;
        [
            b.at(88),
            b.at(91),
            b.at(67),
            b.at(45),
            b.at(68),
            b.at(93),
            b.at(89),
            b.at(82),
        ]
    }

    /// 32 clocks later; `entering` are the last stages.
    #[inline(always)]
    fn shifted(self, entering: V) -> Self {
        let Self([_, second, third, last]) = self;
        Self([second, third, last, entering])
    }
}

impl<V: Shifts<u32>> Vectors<V> {
    /// 32 bits of pre-output of each packet, the first one in the highest bit; while warming up, it is fed back.
    #[inline(always)]
    fn clock(&mut self, warming_up: bool) -> V {
        let (b, s) = (self.nfsr, self.lfsr);
        let lasting = b.lasting();
        let [b88, b91, b67, b45, b68, b93, b89, b82] = lasting;
        let [b56, b59, _, b13, b36, b61, ..] = self.lasting[0];
        let [b24, b27, b3, _, _, _, b25, b18] = self.lasting[1];
        let (b12, b95, s70) = (b.at(12), b.at(95), s.at(70));

        let h = (b12 & (s.at(8) ^ (b95 & s.at(94)))) ^ (s.at(13) & s.at(20)) ^ (b95 & s.at(42)) ^ (s.at(60) & s.at(79));
        let y = h ^ s.at(93) ^ b.at(2) ^ b.at(15) ^ b36 ^ b45 ^ b.at(64) ^ b.at(73) ^ b89;
        let f = s.at(0) ^ s.at(7) ^ self.s38 ^ s70 ^ s.at(81) ^ s.at(96);
        let linear = b.at(0) ^ b.at(26) ^ b56 ^ b91 ^ b.at(96);
        let products = (b3 & b67)
            ^ (b.at(11) & b13)
            ^ (b.at(17) & b18)
            ^ (b27 & b59)
            ^ (b.at(40) & b.at(48))
            ^ (b61 & b.at(65))
            ^ (b68 & b.at(84))
            ^ (b88 & b.at(92) & b93 & b95)
            ^ (b.at(22) & b24 & b25)
            ^ (b.at(70) & b.at(78) & b82);
        let g = s.at(0) ^ linear ^ products;
        let (into_b, into_s) = if warming_up { (g ^ y, f ^ y) } else { (g, f) };

        *self = Self {
            nfsr: b.shifted(into_b),
            lfsr: s.shifted(into_s),
            lasting: [lasting, self.lasting[0]],
            s38: s70,
        };
        y
    }
}

impl<V: Shifts<u32>> Steps<V> for Vectors<V> {
    #[inline(always)]
    fn step(&mut self) -> V {
        self.clock(false).swap_bytes()
    }
}

impl<const LANES: usize, const RUN: usize, V: Shifts<u32> + Lanes<u32, LANES>> Streams<LANES, RUN> for Vectors<V> {
    type Alone = Words;
    type Cpu = V::Cpu;

    #[inline(always)]
    fn start(cpu: V::Cpu, key: &Stages, ivs: &[&[u8]; LANES]) -> Self {
        let [b0, b1, b2, b3, s0, s1, s2, s3] = columns(cpu, ivs, |iv| load(key, iv));
        let (nfsr, lfsr) = (Register([b0, b1, b2, b3]), Register([s0, s1, s2, s3]));
        // The register as it would have been, as far as lasting taps are read: what is before its beginning is not.
        let one_step_ago = Register([b0, b0, b1, b2]).lasting();
        let two_steps_ago = Register([b0, b0, b0, b1]).lasting();
        let mut registers = Self {
            nfsr,
            lfsr,
            lasting: [one_step_ago, two_steps_ago],
            s38: lfsr.at(38),
        };
        for _ in 0..WARM_UP_CLOCKS / 32 {
            registers.clock(true);
        }
        registers
    }

    #[inline(always)]
    fn xor(&mut self, rows: Rows<'_, '_, LANES, RUN>) {
        xor(self.s38, self, rows);
    }
}

/// The words of both registers for one packet, before the first clock.
#[inline(always)]
fn load(key: &Stages, iv: &[u8]) -> [u32; 8] {
    let Words { nfsr, lfsr } = Words::loaded(key, iv);
    let [b, s] = [nfsr, lfsr].map(|register| [0, 32, 64, 96].map(|first| register.tap(first)));
    core::array::from_fn(|i| if i < 4 { b[i] } else { s[i - 4] })
}
