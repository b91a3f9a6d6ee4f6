//! Four blocks side by side, a word of each in one lane, so that the compiler can use any vector unit of four lanes.

use zeroize::Zeroize;

use super::{DOUBLE_ROUNDS, FACTS};
use crate::cipher::Kernel;
use crate::sizes::Facts;

const LANES: usize = 4;

/// The input of the first of the next four blocks.
#[derive(Zeroize)]
pub struct Words {
    input: [u32; 16],
    counter: u64,
}

type Lanes = [u32; LANES];

#[inline(always)]
fn add(a: Lanes, b: Lanes) -> Lanes {
    core::array::from_fn(|i| a[i].wrapping_add(b[i]))
}

/// `x ^ (a + b) <<< ROTATION`, in every lane.
#[inline(always)]
fn mix<const ROTATION: u32>(x: Lanes, a: Lanes, b: Lanes) -> Lanes {
    let sum = add(a, b);
    core::array::from_fn(|i| x[i] ^ sum[i].rotate_left(ROTATION))
}

#[inline(always)]
fn quarter_round(x: &mut [Lanes; 16], a: usize, b: usize, c: usize, d: usize) {
    x[b] = mix::<7>(x[b], x[a], x[d]);
    x[c] = mix::<9>(x[c], x[b], x[a]);
    x[d] = mix::<13>(x[d], x[c], x[b]);
    x[a] = mix::<18>(x[a], x[d], x[c]);
}

#[inline(always)]
fn double_round(x: &mut [Lanes; 16]) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 5, 9, 13, 1);
    quarter_round(x, 10, 14, 2, 6);
    quarter_round(x, 15, 3, 7, 11);

    quarter_round(x, 0, 1, 2, 3);
    quarter_round(x, 5, 6, 7, 4);
    quarter_round(x, 10, 11, 8, 9);
    quarter_round(x, 15, 12, 13, 14);
}

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    /// The input with nonce and counter zero.
    type Key = [u32; 16];
    type Block = [u8; 64 * LANES];

    fn expand(key: &[u8]) -> Self::Key {
        super::input(key)
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self {
            input: super::with_nonce(key, iv),
            counter: 0,
        }
    }

    fn step(&mut self) -> Self::Block {
        let counters: [u64; LANES] = core::array::from_fn(|lane| self.counter.wrapping_add(lane as u64));
        self.counter = self.counter.wrapping_add(LANES as u64);
        let mut input = self.input.map(|word| [word; LANES]);
        input[8] = counters.map(|counter| counter as u32);
        input[9] = counters.map(|counter| (counter >> 32) as u32);

        let mut x = input;
        for _ in 0..DOUBLE_ROUNDS {
            double_round(&mut x);
        }
        let mut block = [0; 64 * LANES];
        let words = block.as_chunks_mut::<4>().0;
        for (i, (x, input)) in x.iter().zip(&input).enumerate() {
            for (lane, sum) in add(*x, *input).iter().enumerate() {
                words[16 * lane + i] = sum.to_le_bytes();
            }
        }
        block
    }
}
