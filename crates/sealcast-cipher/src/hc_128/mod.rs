//! HC-128: two tables of 512 words, one word of them replaced at each step. All numbers are little-endian.

mod definition;
mod words;

pub use definition::Definition;
pub use words::Words;

use crate::number;
use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "hc-128",
    key_bytes: Sizes::exactly(16),
    iv_bytes: Sizes::exactly(16),
    source: "Wu, The stream cipher HC-128, eSTREAM 2006",
};

type Table = [u32; 512];

/// The tables P and Q as key and IV fill them, before the 1024 steps whose output replaces their words.
fn fill(key: &[u8; 16], iv: &[u8]) -> (Table, Table) {
    let key = number::words::<4>(key);
    let iv = number::words::<4>(iv);
    // The last 16 words of W, which is all that the recursion looks back.
    let mut w: [u32; 16] = core::array::from_fn(|i| if i < 8 { key[i % 4] } else { iv[i % 4] });
    let mut next = |i: u32| {
        let f1 = |x: u32| x.rotate_right(7) ^ x.rotate_right(18) ^ x >> 3;
        let f2 = |x: u32| x.rotate_right(17) ^ x.rotate_right(19) ^ x >> 10;
        let at = |back: u32| w[((i - back) % 16) as usize];
        let word = f2(at(2))
            .wrapping_add(at(7))
            .wrapping_add(f1(at(15)))
            .wrapping_add(at(16))
            .wrapping_add(i);
        w[(i % 16) as usize] = word;
        word
    };
    for i in 16..256 {
        next(i);
    }
    let p = core::array::from_fn(|i| next(256 + i as u32));
    let q = core::array::from_fn(|i| next(768 + i as u32));
    (p, q)
}
