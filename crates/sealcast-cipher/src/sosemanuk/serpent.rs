//! What Sosemanuk takes from Serpent: key schedule, S-boxes in bit slices, linear transformation, 24 rounds.

use crate::number;
use crate::registers::Words;

/// Subkeys of the rounds 0 to 23, and the one added after the last.
pub(super) type Keys = [[u32; 4]; 25];

/// Serpent's S-boxes S0 to S7.
const BOXES: [[u8; 16]; 8] = [
    [3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12],
    [15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4],
    [8, 6, 7, 9, 3, 12, 10, 15, 13, 1, 14, 4, 0, 11, 5, 2],
    [0, 15, 11, 8, 12, 9, 6, 3, 13, 1, 2, 4, 10, 7, 5, 14],
    [1, 15, 8, 3, 12, 0, 11, 6, 2, 5, 4, 10, 9, 14, 7, 13],
    [15, 5, 2, 11, 4, 10, 9, 12, 0, 3, 14, 8, 13, 6, 7, 1],
    [7, 2, 12, 5, 8, 4, 6, 11, 14, 9, 1, 15, 13, 3, 10, 0],
    [1, 13, 15, 0, 14, 8, 2, 11, 7, 4, 12, 10, 9, 3, 5, 6],
];

/// The algebraic normal form of each output bit: bit m says that the product of the inputs in m is part of the sum.
const fn normal_forms(table: [u8; 16]) -> [u16; 4] {
    let mut forms = [0; 4];
    let mut output = 0;
    while output < 4 {
        let mut monomial = 0;
        while monomial < 16 {
            // A coefficient is the sum of the function over all inputs within the monomial.
            let mut input = 0;
            while input < 16 {
                if input & monomial == input {
                    forms[output] ^= ((table[input] >> output & 1) as u16) << monomial;
                }
                input += 1;
            }
            monomial += 1;
        }
        output += 1;
    }
    forms
}

/// The products of inputs, by the inputs in them, that `FORM` asks for.
#[inline(always)]
fn sum<const FORM: u16, W: Words>(products: &[W; 16]) -> W {
    let mut sum = products[0].splat(0);
    for (i, product) in products.iter().enumerate() {
        if FORM >> i & 1 == 1 {
            sum = sum ^ *product;
        }
    }
    sum
}

/// An S-box on 32 inputs at once, bit i of each word belonging to input i: no table is looked up with a secret.
macro_rules! s_box {
    ($name:ident, $number:literal) => {
        #[inline(always)]
        pub(super) fn $name<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
            const FORMS: [u16; 4] = normal_forms(BOXES[$number]);
            let (ab, ac, bc, ad, bd, cd) = (a & b, a & c, b & c, a & d, b & d, c & d);
            let triples = [ab & c, ab & d, a & cd, b & cd];
            let products = [
                a.splat(u32::MAX),
                a,
                b,
                ab,
                c,
                ac,
                bc,
                triples[0],
                d,
                ad,
                bd,
                triples[1],
                cd,
                triples[2],
                triples[3],
                ab & cd,
            ];
            [
                sum::<{ FORMS[0] }, W>(&products),
                sum::<{ FORMS[1] }, W>(&products),
                sum::<{ FORMS[2] }, W>(&products),
                sum::<{ FORMS[3] }, W>(&products),
            ]
        }
    };
}

s_box!(s0, 0);
s_box!(s1, 1);
s_box!(s2, 2);
s_box!(s3, 3);
s_box!(s4, 4);
s_box!(s5, 5);
s_box!(s6, 6);
s_box!(s7, 7);

/// The key schedule of Serpent, as far as 25 subkeys.
pub(super) fn schedule(key: &[u8]) -> Keys {
    let mut padded = [0; 32];
    padded[..key.len()].copy_from_slice(key);
    if let Some(byte) = padded.get_mut(key.len()) {
        *byte = 1;
    }
    // The eight words before the next one.
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

/// The block after rounds 12, 18 and 24 of Serpent cut to 24 rounds, the last one with its linear transformation.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_slices_give_what_the_tables_say() {
        let sliced = [s0::<u32>, s1, s2, s3, s4, s5, s6, s7];
        for (table, s_box) in BOXES.iter().zip(sliced) {
            for (input, output) in (0..16).zip(table) {
                let bits = s_box(core::array::from_fn(|i| input >> i & 1));
                let got = (0..4).fold(0, |sum, i| sum | (bits[i] & 1) << i);
                assert_eq!(got, u32::from(*output));
            }
        }
    }
}
