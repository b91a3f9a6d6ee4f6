//! One word at a time, in the paper's notation.

use zeroize::Zeroize;

use super::FACTS;
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// HC-128 as it was published.
#[derive(Zeroize)]
pub struct Definition {
    p: [u32; 512],
    q: [u32; 512],
    /// Number of steps done, modulo 1024.
    i: usize,
}

/// The paper's ⊟ for `j` and `back`.
fn minus(j: usize, back: usize) -> usize {
    (j + 512 - back) % 512
}

fn g1(x: u32, y: u32, z: u32) -> u32 {
    (x.rotate_right(10) ^ z.rotate_right(23)).wrapping_add(y.rotate_right(8))
}

fn g2(x: u32, y: u32, z: u32) -> u32 {
    (x.rotate_left(10) ^ z.rotate_left(23)).wrapping_add(y.rotate_left(8))
}

/// The paper's h1 uses table Q, h2 uses table P.
fn h(table: &[u32; 512], x: u32) -> u32 {
    let [x0, _, x2, _] = x.to_le_bytes();
    table[usize::from(x0)].wrapping_add(table[256 + usize::from(x2)])
}

impl Definition {
    /// The word that the step changes, and the keystream that it produces.
    fn next(&mut self) -> (&mut u32, u32) {
        let j = self.i % 512;
        let (table, other, g): (_, _, fn(u32, u32, u32) -> u32) = if self.i < 512 {
            (&mut self.p, &self.q, g1)
        } else {
            (&mut self.q, &self.p, g2)
        };
        self.i = (self.i + 1) % 1024;
        let added = g(table[minus(j, 3)], table[minus(j, 10)], table[minus(j, 511)]);
        table[j] = table[j].wrapping_add(added);
        let keystream = h(other, table[minus(j, 12)]) ^ table[j];
        (&mut table[j], keystream)
    }
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    type Key = [u8; 16];
    type Block = [u8; 4];

    fn expand(key: &[u8]) -> Self::Key {
        key.try_into().expect("the key has the size in FACTS")
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let (p, q) = super::fill(key, iv);
        let flat = |table: super::Table| core::array::from_fn(|j| table[j / 16][j % 16]);
        let (p, q) = (flat(p), flat(q));
        let mut state = Self { p, q, i: 0 };
        for _ in 0..1024 {
            let (word, keystream) = state.next();
            *word = keystream;
        }
        state
    }

    fn step(&mut self) -> Self::Block {
        self.next().1.to_le_bytes()
    }
}
