//! The parts of Serpent in Sosemanuk: key schedule, linear transformation, 24 rounds.

use super::sbox::{s0, s1, s2, s3, s4, s5, s6, s7};
use crate::number;
use crate::registers::Words;

/// Subkeys of rounds 0 to 23, and the one added after the last.
pub(super) type Keys = [[u32; 4]; 25];

/// The key schedule of Serpent, for the first 25 subkeys.
pub(super) fn schedule(key: &[u8]) -> Keys {
    let mut padded = [0; 32];
    padded[..key.len()].copy_from_slice(key);
    if let Some(byte) = padded.get_mut(key.len()) {
        *byte = 1;
    }
    // The previous eight words.
    let mut w = number::words::<8>(&padded);
    let mut prekey = |i: u32| {
        let at = |back: u32| w[(i + 8 - back) as usize % 8];
        let word = (at(8) ^ at(5) ^ at(3) ^ at(1) ^ 0x9E37_79B9 ^ i).rotate_left(11);
        w[i as usize % 8] = word;
        word
    };
    core::array::from_fn(|round| {
        let x = core::array::from_fn(|word| prekey((4 * round + word) as u32));
        match round % 8 {
            0 => s3(x),
            1 => s2(x),
            2 => s1(x),
            3 => s0(x),
            4 => s7(x),
            5 => s6(x),
            6 => s5(x),
            _ => s4(x),
        }
    })
}

#[inline(always)]
fn linear<W: Words>([mut a, mut b, mut c, mut d]: [W; 4]) -> [W; 4] {
    a = a.rotate_left(13);
    c = c.rotate_left(3);
    b = (b ^ a ^ c).rotate_left(1);
    d = (d ^ c ^ a.shift_left(3)).rotate_left(7);
    a = (a ^ b ^ d).rotate_left(5);
    c = (c ^ d ^ b.shift_left(7)).rotate_left(22);
    [a, b, c, d]
}

#[inline(always)]
fn add<W: Words>([a, b, c, d]: [W; 4], key: &[u32; 4]) -> [W; 4] {
    [
        a ^ a.splat(key[0]),
        b ^ b.splat(key[1]),
        c ^ c.splat(key[2]),
        d ^ d.splat(key[3]),
    ]
}

/// The block after rounds 12, 18 and 24 of Serpent reduced to 24 rounds; the last one includes its linear
/// transformation.
#[inline(always)]
pub(super) fn serpent_24<W: Words>(keys: &Keys, block: [W; 4]) -> [[W; 4]; 3] {
    let mut x = block;
    let mut seen = [x; 3];
    for (i, key) in keys[..24].iter().enumerate() {
        x = add(x, key);
        x = linear(match i % 8 {
            0 => s0(x),
            1 => s1(x),
            2 => s2(x),
            3 => s3(x),
            4 => s4(x),
            5 => s5(x),
            6 => s6(x),
            _ => s7(x),
        });
        match i {
            11 => seen[0] = x,
            17 => seen[1] = x,
            _ => {}
        }
    }
    seen[2] = add(x, &keys[24]);
    seen
}
