//! Sixteen words a step, all from one table: nothing is decided inside, and the indices are masks.

use zeroize::Zeroize;

use super::{FACTS, Table};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// Words of one step. They divide a table, so a step never crosses from one into the other.
const RUN: usize = 16;

/// The tables, and where the next run is.
#[derive(Zeroize)]
pub struct Words {
    p: Table,
    q: Table,
    /// Words done, modulo 1024; a multiple of [`RUN`].
    i: usize,
}

/// The table that a step changes.
const P: bool = false;
const Q: bool = true;

/// What word `j` changes to, and the keystream. In Q, g2 turns to the left what g1 turns to the right in P.
#[inline(always)]
fn next<const TABLE: bool>(table: &Table, other: &Table, j: usize) -> (u32, u32) {
    let turn = |x: u32, bits: u32| {
        if TABLE == Q {
            x.rotate_left(bits)
        } else {
            x.rotate_right(bits)
        }
    };
    let word = |back: usize| table[j.wrapping_sub(back) % 512];
    let added = (turn(word(3), 10) ^ turn(word(511), 23)).wrapping_add(turn(word(10), 8));
    let changed = word(0).wrapping_add(added);
    let [x0, _, x2, _] = word(12).to_le_bytes();
    let h = other[usize::from(x0)].wrapping_add(other[256 + usize::from(x2)]);
    (changed, h ^ changed)
}

#[inline(always)]
fn run<const TABLE: bool>(table: &mut Table, other: &Table, at: usize) -> [u8; 4 * RUN] {
    let mut block = [0; 4 * RUN];
    for (i, bytes) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (changed, keystream) = next::<TABLE>(table, other, at + i);
        table[(at + i) % 512] = changed;
        *bytes = keystream.to_le_bytes();
    }
    block
}

fn set_up<const TABLE: bool>(table: &mut Table, other: &Table) {
    for j in 0..512 {
        table[j] = next::<TABLE>(table, other, j).1;
    }
}

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    type Key = [u8; 16];
    type Block = [u8; 4 * RUN];

    fn expand(key: &[u8]) -> Self::Key {
        key.try_into().expect("the key has the size in FACTS")
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let (mut p, mut q) = super::fill(key, iv);
        set_up::<P>(&mut p, &q);
        set_up::<Q>(&mut q, &p);
        Self { p, q, i: 0 }
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let at = self.i;
        self.i = (at + RUN) % 1024;
        if at < 512 {
            run::<P>(&mut self.p, &self.q, at)
        } else {
            run::<Q>(&mut self.q, &self.p, at % 512)
        }
    }
}
