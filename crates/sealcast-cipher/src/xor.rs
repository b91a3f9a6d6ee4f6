//! XOR with a repeated key, the cheapest operation ever called a cipher: a lower bound on cost, without any secrecy.

use zeroize::Zeroize;

use crate::cipher::Kernel;
use crate::sizes::{Facts, Sizes};

const MOST_KEY_BYTES: usize = 256;

/// Bytes per step.
const RUN: usize = 64;

const FACTS: Facts = Facts {
    name: "xor",
    key_bytes: Sizes::steps(1, MOST_KEY_BYTES, 1),
    iv_bytes: Sizes::exactly(0),
    source: "Vigenère's cipher over bytes, as in comparisons of ciphers for video",
};

/// The repeated key, from its first byte.
#[derive(Clone, Zeroize)]
pub struct Definition {
    /// Extended by its own beginning, so that a step can start at any byte of the key.
    key: [u8; MOST_KEY_BYTES + RUN],
    key_bytes: usize,
    at: usize,
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    type Key = Self;
    type Block = [u8; RUN];

    fn expand(key: &[u8]) -> Self::Key {
        Self {
            key: core::array::from_fn(|i| key[i % key.len()]),
            key_bytes: key.len(),
            at: 0,
        }
    }

    fn start(key: &Self::Key, _iv: &[u8]) -> Self {
        key.clone()
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let block = core::array::from_fn(|i| self.key[self.at + i]);
        self.at = (self.at + RUN) % self.key_bytes;
        block
    }
}
