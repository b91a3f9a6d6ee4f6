//! Thirty-two clocks a step, in lanes of 32 bits.

use super::{WARM_UP_CLOCKS, Words};
use crate::lanes::{InstructionSet, Lanes, Registers, SideBySide};

/// The taps of the nonlinear register that are taps again one or two steps later, 32 or 64 stages on. They are shifted
/// into place once, when their stages come within reach: shifts are what the time goes to.
const LASTING: [u32; 8] = [88, 91, 67, 45, 68, 93, 89, 82];

/// The registers, each in four words. The first stage is the highest bit of the first word.
pub struct Vectors<V> {
    nfsr: [V; 4],
    lfsr: [V; 4],
    /// What [`LASTING`] gave one step and two steps ago.
    lasting: [[V; 8]; 2],
    /// s_70 one step ago.
    s38: V,
}

/// Stages `first` to `first + 31`.
#[inline(always)]
fn tap<V: Lanes>(register: [V; 4], first: u32) -> V {
    let (word, bits) = ((first / 32) as usize, first % 32);
    if bits == 0 {
        register[word]
    } else {
        register[word + 1].funnel(register[word], 32 - bits)
    }
}

impl<V: Lanes> Vectors<V> {
    /// 32 bits of pre-output of each packet, the first one in the highest bit; while warming up, it is fed back.
    #[inline(always)]
    fn clock(&mut self, warming_up: bool) -> V {
        let b = |first| tap(self.nfsr, first);
        let s = |first| tap(self.lfsr, first);
        let lasting = LASTING.map(b);
        let [b88, b91, b67, b45, b68, b93, b89, b82] = lasting;
        let [b56, b59, _, b13, b36, b61, ..] = self.lasting[0];
        let [b24, b27, b3, _, _, _, b25, b18] = self.lasting[1];
        let (b12, b95, s70) = (b(12), b(95), s(70));

        let h = (b12 & (s(8) ^ (b95 & s(94)))) ^ (s(13) & s(20)) ^ (b95 & s(42)) ^ (s(60) & s(79));
        let y = h ^ s(93) ^ b(2) ^ b(15) ^ b36 ^ b45 ^ b(64) ^ b(73) ^ b89;
        let f = s(0) ^ s(7) ^ self.s38 ^ s70 ^ s(81) ^ s(96);
        let linear = b(0) ^ b(26) ^ b56 ^ b91 ^ b(96);
        let products = (b3 & b67)
            ^ (b(11) & b13)
            ^ (b(17) & b18)
            ^ (b27 & b59)
            ^ (b(40) & b(48))
            ^ (b61 & b(65))
            ^ (b68 & b(84))
            ^ (b88 & b(92) & b93 & b95)
            ^ (b(22) & b24 & b25)
            ^ (b(70) & b(78) & b82);
        let g = s(0) ^ linear ^ products;
        let (into_b, into_s) = if warming_up { (g ^ y, f ^ y) } else { (g, f) };

        let ([_, b1, b2, b3], [_, s1, s2, s3]) = (self.nfsr, self.lfsr);
        *self = Self {
            nfsr: [b1, b2, b3, into_b],
            lfsr: [s1, s2, s3, into_s],
            lasting: [lasting, self.lasting[0]],
            s38: s70,
        };
        y
    }
}

impl<V: Lanes> Registers<V> for Vectors<V> {
    #[inline(always)]
    fn start(word: impl Fn(usize) -> V) -> Self {
        let [nfsr, lfsr] = [0, 4].map(|first| core::array::from_fn(|i| word(first + i)));
        let before = |stages: u32| LASTING.map(|first| tap(nfsr, first.saturating_sub(stages)));
        let mut registers = Self {
            nfsr,
            lfsr,
            lasting: [before(32), before(64)],
            s38: tap(lfsr, 38),
        };
        for _ in 0..WARM_UP_CLOCKS / 32 {
            registers.clock(true);
        }
        registers
    }

    #[inline(always)]
    fn step(&mut self) -> V {
        self.clock(false).swap_bytes()
    }
}

impl SideBySide for Words {
    type Word = u32;
    type Loaded = [u32; 8];
    type Lanes<S: InstructionSet> = S::U32;
    type Registers<S: InstructionSet> = Vectors<S::U32>;

    #[inline(always)]
    fn load(key: &Self::Key, iv: &[u8]) -> Self::Loaded {
        let Self { nfsr, lfsr } = Self::loaded(key, iv);
        let [b, s] = [nfsr, lfsr].map(|register| [0, 32, 64, 96].map(|first| register.tap(first)));
        core::array::from_fn(|i| if i < 4 { b[i] } else { s[i - 4] })
    }
}
