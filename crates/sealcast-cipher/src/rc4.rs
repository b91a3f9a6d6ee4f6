//! RC4: a permutation of 256 bytes that is shuffled as it is read.
//!
//! The keystream is used from its first byte on, without dropping any, as in the papers that the laboratory repeats.
//! RC4 has no IV and none is mixed into the key here: two packets under one key have the same keystream. Its first
//! bytes are biased, and it is broken as a cipher.

use zeroize::Zeroize;

use crate::cipher::Kernel;
use crate::sizes::{Facts, Sizes};
use crate::wipe::wipe;

const FACTS: Facts = Facts {
    name: "rc4",
    key_bytes: Sizes::steps(1, 256, 1),
    iv_bytes: Sizes::exactly(0),
    source: "RFC 6229, Test vectors for the stream cipher RC4, 2011; Kaukonen and Thayer, A stream cipher encryption \
             algorithm \"Arcfour\", 1999",
};

/// RC4 as it leaked.
#[derive(Clone, Zeroize)]
pub struct Definition {
    s: [u8; 256],
    i: u8,
    j: u8,
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

/// Reads each byte of the permutation before the swap ahead of it is written, so that no load waits for a store. Bytes
/// have words to themselves, which are cheaper to load and store.
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
        // Whole registers are computed with: parts of them are slower.
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
