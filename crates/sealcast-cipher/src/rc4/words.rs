//! Loads one byte ahead of the preceding swap.

use zeroize::Zeroize;

use super::{Definition, FACTS};
use crate::cipher::Kernel;
use crate::sizes::Facts;
use crate::wipe::wipe;

/// Reads each byte of the permutation before the preceding swap is written, so that no load waits for a store. Each
/// byte occupies a whole word, which is cheaper to load and store.
#[derive(Clone)]
pub struct Words {
    s: [u32; 256],
    i: u8,
    j: u8,
}

impl Zeroize for Words {
    fn zeroize(&mut self) {
        let nothing = Self {
            s: [0; 256],
            i: 0,
            j: 0,
        };
        wipe(self, nothing);
    }
}

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    type Key = Self;
    type Block = [u8; 8];

    fn expand(key: &[u8]) -> Self::Key {
        let Definition { s, i, j } = Definition::expand(key);
        let s = s.map(u32::from);
        Self { s, i, j }
    }

    #[inline(always)]
    fn start(key: &Self::Key, _iv: &[u8]) -> Self {
        key.clone()
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let Self { s, i, j } = self;
        // Computes with whole registers, since partial ones are slower.
        let (mut at_i, mut at_j) = (u32::from(*i), u32::from(*j));
        let mut one = s[usize::from(i.wrapping_add(1))];
        let mut keystream = 0;
        for k in 0..8 {
            at_i = (at_i + 1) & 0xFF;
            at_j = (at_j + one) & 0xFF;
            let following = (at_i + 1) & 0xFF;
            let other = s[at_j as usize];
            let next = s[following as usize];
            s[at_i as usize] = other;
            s[at_j as usize] = one;
            keystream |= u64::from(s[((one + other) & 0xFF) as usize]) << (8 * k);
            one = if following == at_j { one } else { next };
        }
        (*i, *j) = (at_i as u8, at_j as u8);
        keystream.to_le_bytes()
    }
}
