//! One bit at a time, in the paper's notation.

use zeroize::Zeroize;

use super::{FACTS, WARM_UP_CLOCKS};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// Grain-v1 as it was published.
#[derive(Zeroize)]
pub struct Definition {
    /// b_i to b_{i+79}, the nonlinear register.
    nfsr: [bool; 80],
    /// s_i to s_{i+79}, the linear register.
    lfsr: [bool; 80],
}

impl Definition {
    fn output(&self) -> bool {
        let (b, s) = (&self.nfsr, &self.lfsr);
        let (x0, x1, x2, x3, x4) = (s[3], s[25], s[46], s[64], b[63]);
        let h = x1
            ^ x4
            ^ (x0 & x3)
            ^ (x2 & x3)
            ^ (x3 & x4)
            ^ (x0 & x1 & x2)
            ^ (x0 & x2 & x3)
            ^ (x0 & x2 & x4)
            ^ (x1 & x2 & x4)
            ^ (x2 & x3 & x4);
        [1, 2, 4, 10, 31, 43, 56].iter().fold(h, |z, &k| z ^ b[k])
    }

    /// One clock; `fed_back` is added to the bits that enter both registers.
    fn clock(&mut self, fed_back: bool) {
        let (b, s) = (&mut self.nfsr, &mut self.lfsr);
        let f = [62, 51, 38, 23, 13, 0].iter().fold(false, |sum, &k| sum ^ s[k]);
        let linear = [62, 60, 52, 45, 37, 33, 28, 21, 14, 9, 0];
        let products: [&[usize]; 10] = [
            &[63, 60],
            &[37, 33],
            &[15, 9],
            &[60, 52, 45],
            &[33, 28, 21],
            &[63, 45, 28, 9],
            &[60, 52, 37, 33],
            &[63, 60, 21, 15],
            &[63, 60, 52, 45, 37],
            &[33, 28, 21, 15, 9],
        ];
        let mut g = linear.iter().fold(s[0], |sum, &k| sum ^ b[k]);
        for product in products {
            g ^= product.iter().all(|&k| b[k]);
        }
        g ^= [52, 45, 37, 33, 28, 21].iter().all(|&k| b[k]);
        b.copy_within(1.., 0);
        s.copy_within(1.., 0);
        b[79] = g ^ fed_back;
        s[79] = f ^ fed_back;
    }
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    type Key = [u8; 10];
    type Block = [u8; 1];

    fn expand(key: &[u8]) -> Self::Key {
        key.try_into().expect("the key has the size in FACTS")
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let bit = |bytes: &[u8], i: usize| bytes[i / 8] >> (i % 8) & 1 == 1;
        let mut state = Self {
            nfsr: core::array::from_fn(|i| bit(key, i)),
            lfsr: core::array::from_fn(|i| i >= 64 || bit(iv, i)),
        };
        for _ in 0..WARM_UP_CLOCKS {
            state.clock(state.output());
        }
        state
    }

    fn step(&mut self) -> Self::Block {
        let mut byte = 0;
        for i in 0..8 {
            byte |= u8::from(self.output()) << i;
            self.clock(false);
        }
        [byte]
    }
}
