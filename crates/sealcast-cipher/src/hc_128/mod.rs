//! HC-128: two tables of 512 words; each step replaces one word. All numbers are little-endian.

mod definition;
#[cfg(target_arch = "x86_64")]
mod sha;
mod words;

pub use definition::Definition;
#[cfg(target_arch = "x86_64")]
pub use sha::Sha;
pub use words::Words;

use zeroize::Zeroize;

use crate::number;
use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "hc-128",
    key_bytes: Sizes::exactly(16),
    iv_bytes: Sizes::exactly(16),
    source: "Wu, The stream cipher HC-128, eSTREAM 2006",
};

/// Number of words that the recursion of W looks back, and length of a table's row.
const ROW: usize = 16;

/// P or Q, in rows.
type Table = [[u32; ROW]; 32];

/// The tables as key and IV fill them, before the 1024 steps whose output replaces their words.
fn fill(key: &[u8; 16], iv: &[u8]) -> (Table, Table) {
    let key = number::words::<4>(key);
    let iv = number::words::<4>(iv);
    let mut w = core::array::from_fn(|i| if i < 8 { key[i % 4] } else { iv[i % 4] });
    // W_16 to W_255 are not used.
    for row in 1..16 {
        expand_row(&mut w, row);
    }
    let (mut p, mut q) = ([[0; ROW]; 32], [[0; ROW]; 32]);
    for (row, words) in (16..).zip(p.iter_mut().chain(&mut q)) {
        expand_row(&mut w, row);
        *words = w;
    }
    w.zeroize();
    (p, q)
}

/// The words of W from 16 `row` on, computed from the sixteen before them.
fn expand_row(w: &mut [u32; ROW], row: u32) {
    macro_rules! each {
        ($($i:literal)*) => { $(w[$i] = expand_word(w, row, $i);)* };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

#[inline(always)]
fn expand_word(w: &[u32; ROW], row: u32, i: usize) -> u32 {
    let f1 = |x: u32| x.rotate_right(7) ^ x.rotate_right(18) ^ x >> 3;
    let f2 = |x: u32| x.rotate_right(17) ^ x.rotate_right(19) ^ x >> 10;
    let back = |words: usize| w[(i + ROW - words) % ROW];
    f2(back(2))
        .wrapping_add(back(7))
        .wrapping_add(f1(back(15)))
        .wrapping_add(back(16))
        .wrapping_add(16 * row + i as u32)
}
