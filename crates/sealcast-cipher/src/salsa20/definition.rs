//! One block at a time, in the specification's notation. A faster portable kernel is not possible.

use zeroize::Zeroize;

use super::{DOUBLE_ROUNDS, FACTS};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// Salsa20/20 as it was published.
#[derive(Zeroize)]
pub struct Definition {
    input: [u32; 16],
}

type Matrix = [u32; 16];

#[inline(always)]
fn quarter_round(x: &mut Matrix, [a, b, c, d]: [usize; 4]) {
    x[b] ^= x[a].wrapping_add(x[d]).rotate_left(7);
    x[c] ^= x[b].wrapping_add(x[a]).rotate_left(9);
    x[d] ^= x[c].wrapping_add(x[b]).rotate_left(13);
    x[a] ^= x[d].wrapping_add(x[c]).rotate_left(18);
}

#[inline(always)]
fn column_round(x: &mut Matrix) {
    quarter_round(x, [0, 4, 8, 12]);
    quarter_round(x, [5, 9, 13, 1]);
    quarter_round(x, [10, 14, 2, 6]);
    quarter_round(x, [15, 3, 7, 11]);
}

#[inline(always)]
fn row_round(x: &mut Matrix) {
    quarter_round(x, [0, 1, 2, 3]);
    quarter_round(x, [5, 6, 7, 4]);
    quarter_round(x, [10, 11, 8, 9]);
    quarter_round(x, [15, 12, 13, 14]);
}

impl Kernel for Definition {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "definition";
    /// The input with nonce and counter zero.
    type Key = [u32; 16];
    type Block = [u8; 64];

    fn expand(key: &[u8]) -> Self::Key {
        super::input(key)
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let input = super::with_nonce(key, iv);
        Self { input }
    }

    fn step(&mut self) -> Self::Block {
        let mut x = self.input;
        for _ in 0..DOUBLE_ROUNDS {
            column_round(&mut x);
            row_round(&mut x);
        }
        let mut block = [0; 64];
        for (i, bytes) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *bytes = x[i].wrapping_add(self.input[i]).to_le_bytes();
        }
        let counter = (u64::from(self.input[9]) << 32 | u64::from(self.input[8])).wrapping_add(1);
        self.input[8] = counter as u32;
        self.input[9] = (counter >> 32) as u32;
        block
    }
}
