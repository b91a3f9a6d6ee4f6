//! One bit at a time, in the paper's notation.

use zeroize::Zeroize;

use super::{FACTS, WARM_UP_CLOCKS};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// Trivium as it was published. `stages[i]` is the paper's `s_i`; `stages[0]` is not used.
#[derive(Zeroize)]
pub struct Definition {
    stages: [bool; 289],
}

impl Definition {
    fn clock(&mut self) -> bool {
        let s = &mut self.stages;
        let mut t1 = s[66] ^ s[93];
        let mut t2 = s[162] ^ s[177];
        let mut t3 = s[243] ^ s[288];
        let z = t1 ^ t2 ^ t3;
        t1 ^= s[91] & s[92] ^ s[171];
        t2 ^= s[175] & s[176] ^ s[264];
        t3 ^= s[286] & s[287] ^ s[69];
        s.copy_within(1..288, 2);
        s[1] = t3;
        s[94] = t1;
        s[178] = t2;
        z
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
        let mut state = Self { stages: [false; 289] };
        load(&mut state.stages[1..], key);
        load(&mut state.stages[94..], iv);
        state.stages[286..=288].fill(true);
        for _ in 0..WARM_UP_CLOCKS {
            state.clock();
        }
        state
    }

    fn step(&mut self) -> Self::Block {
        let bits = core::array::from_fn::<bool, 8, _>(|_| self.clock());
        [bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit))]
    }
}

/// Starts with the last byte, and in each byte with the most significant bit.
fn load(stages: &mut [bool], bytes: &[u8]) {
    let bits = bytes
        .iter()
        .rev()
        .flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1 == 1));
    for (stage, bit) in stages.iter_mut().zip(bits) {
        *stage = bit;
    }
}
