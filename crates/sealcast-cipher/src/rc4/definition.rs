//! RC4 as it was leaked.

use zeroize::Zeroize;

use super::FACTS;
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// The permutation and its two indices.
#[derive(Clone, Zeroize)]
pub struct Definition {
    pub(super) s: [u8; 256],
    pub(super) i: u8,
    pub(super) j: u8,
}

impl Definition {
    #[inline(always)]
    fn byte(&mut self) -> u8 {
        self.i = self.i.wrapping_add(1);
        let at_i = self.s[usize::from(self.i)];
        self.j = self.j.wrapping_add(at_i);
        let at_j = self.s[usize::from(self.j)];
        self.s[usize::from(self.i)] = at_j;
        self.s[usize::from(self.j)] = at_i;
        self.s[usize::from(at_i.wrapping_add(at_j))]
    }
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    /// The permutation after key set-up.
    type Key = Self;
    type Block = [u8; 8];

    fn expand(key: &[u8]) -> Self::Key {
        let mut s = core::array::from_fn(|i| i as u8);
        let mut j = 0_u8;
        for (i, key) in (0..256).zip(key.iter().cycle()) {
            j = j.wrapping_add(s[i]).wrapping_add(*key);
            s.swap(i, usize::from(j));
        }
        Self { s, i: 0, j: 0 }
    }

    fn start(key: &Self::Key, _iv: &[u8]) -> Self {
        key.clone()
    }

    fn step(&mut self) -> Self::Block {
        core::array::from_fn(|_| self.byte())
    }
}
