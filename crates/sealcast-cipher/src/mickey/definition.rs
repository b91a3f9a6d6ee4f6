//! One bit of one stage at a time, in the papers' notation.

use core::marker::PhantomData;

use zeroize::Zeroize;

use super::versions::{MOST_STAGES, Version, bit};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// MICKEY as it was published. Stages from [`Version::STAGES`] on stay zero.
#[derive(Zeroize)]
pub struct Definition<V: Version> {
    r: [bool; MOST_STAGES],
    s: [bool; MOST_STAGES],
    #[zeroize(skip)]
    version: PhantomData<V>,
}

impl<V: Version> Definition<V> {
    /// CLOCK_R.
    fn clock_r(&mut self, input: bool, control: bool) {
        let r = self.r;
        let feedback = r[V::STAGES - 1] ^ input;
        for i in 0..V::STAGES {
            let shifted = i > 0 && r[i - 1];
            self.r[i] = shifted ^ (bit(V::R_TAPS, i) & feedback) ^ (r[i] & control);
        }
    }

    /// CLOCK_S.
    fn clock_s(&mut self, input: bool, control: bool) {
        let s = self.s;
        let feedback = s[V::STAGES - 1] ^ input;
        let entered = if control { V::FB1 } else { V::FB0 };
        for i in 0..V::STAGES {
            let shifted = i > 0 && s[i - 1];
            let inner = (1..V::STAGES - 1).contains(&i);
            let product = inner && (s[i] ^ bit(V::COMP0, i)) & (s[i + 1] ^ bit(V::COMP1, i));
            self.s[i] = shifted ^ product ^ (bit(entered, i) & feedback);
        }
    }

    /// CLOCK_KG.
    fn clock(&mut self, mixing: bool, input: bool) {
        let control_r = self.s[V::R_CONTROL.0] ^ self.r[V::R_CONTROL.1];
        let control_s = self.s[V::S_CONTROL.0] ^ self.r[V::S_CONTROL.1];
        self.clock_r(input ^ (mixing & self.s[V::MIXED_IN]), control_r);
        self.clock_s(input, control_s);
    }
}

impl<V: Version> Kernel for Definition<V> {
    const FACTS: &'static Facts = V::FACTS;
    const NAME: &'static str = "definition";
    type Key = [u8; 10];
    type Block = [u8; 1];

    fn expand(key: &[u8]) -> Self::Key {
        key.try_into().expect("the key has the size in FACTS")
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let mut state = Self {
            r: [false; MOST_STAGES],
            s: [false; MOST_STAGES],
            version: PhantomData,
        };
        for byte in iv.iter().chain(key) {
            for i in (0..8).rev() {
                state.clock(true, byte >> i & 1 == 1);
            }
        }
        for _ in 0..V::STAGES {
            state.clock(true, false);
        }
        state
    }

    fn step(&mut self) -> Self::Block {
        let mut byte = 0;
        for _ in 0..8 {
            byte = byte << 1 | u8::from(self.r[0] ^ self.s[0]);
            self.clock(false, false);
        }
        [byte]
    }
}
