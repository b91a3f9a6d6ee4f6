//! Sixteen clocks a step, in lanes of 16 bits.

use super::{WARM_UP_CLOCKS, Words};
use crate::lanes::{InstructionSet, Lanes, Registers, SideBySide};

/// The taps of the nonlinear register that are taps again up to three steps later, 16, 32 or 48 stages on. They are
/// shifted into place once, when their stages come within reach: shifts are what the time goes to.
const LASTING_B: [u32; 6] = [33, 52, 37, 60, 62, 63];

/// The same for the linear register.
const LASTING_S: [u32; 2] = [51, 62];

/// The registers, each in five words. The first stage is the lowest bit of the first word.
pub struct Vectors<V> {
    nfsr: [V; 5],
    lfsr: [V; 5],
    /// What [`LASTING_B`] gave one, two and three steps ago.
    lasting_b: [[V; 6]; 3],
    /// The same for [`LASTING_S`].
    lasting_s: [[V; 2]; 3],
}

/// Stages `first` to `first + 15`.
#[inline(always)]
fn tap<V: Lanes>(register: [V; 5], first: u32) -> V {
    let (word, bits) = ((first / 16) as usize, first % 16);
    if bits == 0 {
        register[word]
    } else {
        register[word].funnel(register[word + 1], bits)
    }
}

impl<V: Lanes> Vectors<V> {
    /// 16 bits of output of each packet, the first one in bit 0; while warming up, it is fed back.
    #[inline(always)]
    fn clock(&mut self, warming_up: bool) -> V {
        let b = |first| tap(self.nfsr, first);
        let s = |first| tap(self.lfsr, first);
        let (lasting_b, lasting_s) = (LASTING_B.map(b), LASTING_S.map(s));
        let [b33, b52, b37, b60, b62, b63] = lasting_b;
        let [_, _, b21, ..] = self.lasting_b[0];
        let [b1, _, _, b28, _, b31] = self.lasting_b[1];
        let [_, b4, _, _, b14, b15] = self.lasting_b[2];
        let ([s51, s62], [_, s46], [s3, _]) = (lasting_s, self.lasting_s[0], self.lasting_s[2]);
        let (b9, b45) = (b(9), b(45));

        let (x0, x1, x2, x3, x4) = (s3, s(25), s46, s(64), b63);
        let h = x1 ^ x4 ^ (x3 & (x0 ^ x2 ^ x4)) ^ (x2 & ((x0 & (x1 ^ x3 ^ x4)) ^ (x4 & (x1 ^ x3))));
        let z = h ^ b1 ^ b(2) ^ b4 ^ b(10) ^ b31 ^ b(43) ^ b(56);
        let f = s62 ^ s51 ^ s(38) ^ s(23) ^ s(13) ^ s(0);
        let linear = b62 ^ b60 ^ b52 ^ b45 ^ b37 ^ b33 ^ b28 ^ b21 ^ b14 ^ b9 ^ b(0);
        let (b63_60, b52_45, b37_33) = (b63 & b60, b52 & b45, b37 & b33);
        let (b28_21, b15_9) = (b28 & b21, b15 & b9);
        let b33_28_21 = b33 & b28_21;
        let products = b63_60
            ^ b37_33
            ^ b15_9
            ^ (b60 & b52_45)
            ^ b33_28_21
            ^ (b63 & b45 & b28 & b9)
            ^ (b60 & b52 & b37_33)
            ^ (b63_60 & b21 & b15)
            ^ (b63_60 & b52_45 & b37)
            ^ (b33_28_21 & b15_9)
            ^ (b52_45 & b37_33 & b28_21);
        let g = s(0) ^ linear ^ products;
        let (into_b, into_s) = if warming_up { (g ^ z, f ^ z) } else { (g, f) };

        let ([_, nfsr @ ..], [_, lfsr @ ..]) = (self.nfsr, self.lfsr);
        let ([b_1, b_2, _], [s_1, s_2, _]) = (self.lasting_b, self.lasting_s);
        *self = Self {
            nfsr: [nfsr[0], nfsr[1], nfsr[2], nfsr[3], into_b],
            lfsr: [lfsr[0], lfsr[1], lfsr[2], lfsr[3], into_s],
            lasting_b: [lasting_b, b_1, b_2],
            lasting_s: [lasting_s, s_1, s_2],
        };
        z
    }
}

impl<V: Lanes> Registers<V> for Vectors<V> {
    #[inline(always)]
    fn start(word: impl Fn(usize) -> V) -> Self {
        let [nfsr, lfsr] = [0, 5].map(|first| core::array::from_fn(|i| word(first + i)));
        // Where a tap does not last so long, what stands in its place is never read.
        let earlier = |register, tap_now: u32, stages| tap(register, tap_now.saturating_sub(stages));
        let mut registers = Self {
            nfsr,
            lfsr,
            lasting_b: [16, 32, 48].map(|stages| LASTING_B.map(|first| earlier(nfsr, first, stages))),
            lasting_s: [16, 32, 48].map(|stages| LASTING_S.map(|first| earlier(lfsr, first, stages))),
        };
        for _ in 0..WARM_UP_CLOCKS / 16 {
            registers.clock(true);
        }
        registers
    }

    #[inline(always)]
    fn step(&mut self) -> V {
        self.clock(false)
    }
}

impl SideBySide for Words {
    type Word = u16;
    type Loaded = [u16; 10];
    type Lanes<S: InstructionSet> = S::U16;
    type Registers<S: InstructionSet> = Vectors<S::U16>;

    #[inline(always)]
    fn load(key: &Self::Key, iv: &[u8]) -> Self::Loaded {
        let Self { nfsr, lfsr } = Self::loaded(key, iv);
        let [b, s] = [nfsr, lfsr].map(|register| [0, 16, 32, 48, 64].map(|first| register.tap(first)));
        core::array::from_fn(|i| if i < 5 { b[i] } else { s[i - 5] })
    }
}
