//! One bit at a time, in the paper's notation.

use zeroize::Zeroize;

use super::{FACTS, WARM_UP_CLOCKS};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// Grain-128a as it was published.
#[derive(Zeroize)]
pub struct Definition {
    /// b_i to b_{i+127}, the nonlinear register.
    nfsr: [bool; 128],
    /// s_i to s_{i+127}, the linear register.
    lfsr: [bool; 128],
}

impl Definition {
    fn pre_output(&self) -> bool {
        let (b, s) = (&self.nfsr, &self.lfsr);
        let h = (b[12] & s[8]) ^ (s[13] & s[20]) ^ (b[95] & s[42]) ^ (s[60] & s[79]) ^ (b[12] & b[95] & s[94]);
        [2, 15, 36, 45, 64, 73, 89].iter().fold(h ^ s[93], |y, &k| y ^ b[k])
    }

    /// One clock; `fed_back` is added to the bits that enter both registers.
    fn clock(&mut self, fed_back: bool) {
        let (b, s) = (&mut self.nfsr, &mut self.lfsr);
        let f = [0, 7, 38, 70, 81, 96].iter().fold(false, |sum, &k| sum ^ s[k]);
        let products: [&[usize]; 10] = [
            &[3, 67],
            &[11, 13],
            &[17, 18],
            &[27, 59],
            &[40, 48],
            &[61, 65],
            &[68, 84],
            &[88, 92, 93, 95],
            &[22, 24, 25],
            &[70, 78, 82],
        ];
        let mut g = [0, 26, 56, 91, 96].iter().fold(s[0], |sum, &k| sum ^ b[k]);
        for product in products {
            g ^= product.iter().all(|&k| b[k]);
        }
        b.copy_within(1.., 0);
        s.copy_within(1.., 0);
        b[127] = g ^ fed_back;
        s[127] = f ^ fed_back;
    }
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    type Key = [u8; 16];
    type Block = [u8; 1];

    fn expand(key: &[u8]) -> Self::Key {
        key.try_into().expect("the key has the size in FACTS")
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let bit = |bytes: &[u8], i: usize| bytes[i / 8] << (i % 8) & 0x80 != 0;
        let mut state = Self {
            nfsr: core::array::from_fn(|i| bit(key, i)),
            lfsr: core::array::from_fn(|i| if i < 96 { bit(iv, i) } else { i < 127 }),
        };
        for _ in 0..WARM_UP_CLOCKS {
            state.clock(state.pre_output());
        }
        state
    }

    fn step(&mut self) -> Self::Block {
        let mut byte = 0;
        for _ in 0..8 {
            byte = byte << 1 | u8::from(self.pre_output());
            self.clock(false);
        }
        [byte]
    }
}
