//! Sixteen words per step, one row of a table: there are no branches, and all positions are constants.

use zeroize::Zeroize;

use super::{FACTS, ROW, Table};
use crate::cipher::Kernel;
use crate::sizes::Facts;
use crate::wipe::wipe;

/// The tables, and the next row of the two.
pub struct Words {
    p: Table,
    q: Table,
    row: usize,
}

/// Selects the table that a step changes.
const P: bool = false;
const Q: bool = true;

/// The twelve words before a row, the row, and the word after it, which the row's last word j needs as j - 511
/// (modulo 512).
type Window = [u32; 12 + ROW + 1];

/// Changes word `i` of the row and returns its keystream, which replaces the word during set-up.
#[inline(always)]
fn change<const TABLE: bool, const SET_UP: bool>(w: &mut Window, other: &[u32], i: usize) -> u32 {
    // In Q, g2 rotates left where g1 rotates right in P.
    let turn = |x: u32, bits: u32| {
        if TABLE == Q {
            x.rotate_left(bits)
        } else {
            x.rotate_right(bits)
        }
    };
    let j = 12 + i;
    let g = (turn(w[j - 3], 10) ^ turn(w[j + 1], 23)).wrapping_add(turn(w[j - 10], 8));
    let changed = w[j].wrapping_add(g);
    let [x0, _, x2, _] = w[j - 12].to_le_bytes();
    let keystream = changed ^ other[usize::from(x0)].wrapping_add(other[256 + usize::from(x2)]);
    w[j] = if SET_UP { keystream } else { changed };
    keystream
}

/// Changes a row of `table` and returns its keystream.
#[inline(always)]
fn change_row<const TABLE: bool, const SET_UP: bool>(table: &mut Table, other: &Table, row: usize) -> [u32; ROW] {
    let mut w = [0; 12 + ROW + 1];
    w[..12].copy_from_slice(&table[(row + 31) % 32][4..]);
    w[12..12 + ROW].copy_from_slice(&table[row]);
    w[12 + ROW] = table[(row + 1) % 32][0];
    let other = other.as_flattened();
    // Unrolled by hand, so that the compiler keeps the window in registers; it does not unroll a loop of this length.
    macro_rules! each {
        ($($i:literal)*) => { [$(change::<TABLE, SET_UP>(&mut w, other, $i)),*] };
    }
    let keystream = each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    table[row].copy_from_slice(&w[12..12 + ROW]);
    keystream
}

impl Words {
    /// Set-up from the tables that [`super::fill`] computes.
    #[inline(always)]
    pub(super) fn set_up(mut p: Table, mut q: Table) -> Self {
        for row in 0..32 {
            change_row::<P, true>(&mut p, &q, row);
        }
        for row in 0..32 {
            change_row::<Q, true>(&mut q, &p, row);
        }
        Self { p, q, row: 0 }
    }
}

impl Zeroize for Words {
    fn zeroize(&mut self) {
        let nothing = [[0; ROW]; 32];
        wipe(
            self,
            Self {
                p: nothing,
                q: nothing,
                row: 0,
            },
        );
    }
}

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    type Key = [u8; 16];
    type Block = [u8; 4 * ROW];

    fn expand(key: &[u8]) -> Self::Key {
        key.try_into().expect("the key has the size in FACTS")
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let (p, q) = super::fill(key, iv);
        Self::set_up(p, q)
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let row = self.row % 32;
        let keystream = if self.row < 32 {
            change_row::<P, false>(&mut self.p, &self.q, row)
        } else {
            change_row::<Q, false>(&mut self.q, &self.p, row)
        };
        self.row = (self.row + 1) % 64;
        let mut block = [0; 4 * ROW];
        for (bytes, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(keystream) {
            *bytes = word.to_le_bytes();
        }
        block
    }
}
