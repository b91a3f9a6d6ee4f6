//! Four words per step, in the paper's notation.

use zeroize::Zeroize;

use super::field::Field;
use super::{FACTS, State, sbox, serpent};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// Sosemanuk as it was published.
#[derive(Zeroize)]
pub struct Definition(State<u32>);

impl Definition {
    /// One clock: returns f_t, and the s_t that leaves the register.
    fn clock(&mut self) -> (u32, u32) {
        let State { s, r1, r2 } = &mut self.0;
        // s[0] is the paper's s_t before the register moves.
        let mux = if *r1 & 1 == 0 { s[1] } else { s[1] ^ s[8] };
        (*r1, *r2) = (r2.wrapping_add(mux), super::trans(*r1));
        let f = s[9].wrapping_add(*r1) ^ *r2;
        let entering = s[9] ^ s[3].over_alpha() ^ s[0].times_alpha();
        let leaving = s[0];
        s.rotate_left(1);
        s[9] = entering;
        (f, leaving)
    }
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    type Key = serpent::Keys;
    type Block = [u8; 16];

    fn expand(key: &[u8]) -> Self::Key {
        serpent::schedule(key)
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self(super::inject(key, super::padded(iv)))
    }

    fn step(&mut self) -> Self::Block {
        let pairs: [(u32, u32); 4] = core::array::from_fn(|_| self.clock());
        // Serpent1 is just S2.
        let mixed = sbox::s2(pairs.map(|(f, _)| f));
        let mut block = [0; 16];
        for (i, bytes) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *bytes = (mixed[i] ^ pairs[i].1).to_le_bytes();
        }
        block
    }
}
