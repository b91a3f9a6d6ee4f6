//! Transposition: from a row per packet to a register per word or bit, and back.

use super::{Bits, Lanes};
use crate::cipher::xor_into;
use crate::interleaved::Rows;
use crate::wipe::wipe;

/// Number of rows that are transposed without leaving the vector registers.
const AT_ONCE: usize = 8;

/// One register for each word that `words` derives from a lane's IV.
#[inline(always)]
pub(crate) fn columns<W, const LANES: usize, const WORDS: usize, V>(
    cpu: V::Cpu,
    ivs: &[&[u8]; LANES],
    words: impl Fn(&[u8]) -> [W; WORDS],
) -> [V; WORDS]
where
    W: Copy + Default,
    V: Lanes<W, LANES>,
{
    let mut columns = [[W::default(); LANES]; WORDS];
    for (lane, iv) in ivs.iter().enumerate() {
        for (column, word) in columns.iter_mut().zip(words(iv)) {
            column[lane] = word;
        }
    }
    let registers = columns.map(|words| V::load(cpu, words));
    wipe(&mut columns, [[W::default(); LANES]; WORDS]);
    registers
}

/// Keystreams that produce one word of each lane at a time. (A closure would not be inlined into code compiled for
/// more instructions than the closure itself.)
pub(crate) trait Steps<V> {
    /// The next word of each lane.
    fn step(&mut self) -> V;
}

/// XORs consecutive little-endian words of each lane into the lane's row, as many words as there are lanes. `any` is
/// any register.
#[inline(always)]
pub(crate) fn xor<W, const LANES: usize, const RUN: usize, V: Lanes<W, LANES>>(
    any: V,
    streams: &mut impl Steps<V>,
    mut rows: Rows<'_, '_, LANES, RUN>,
) {
    const { assert!(RUN == size_of::<V>(), "a row takes a register") };
    let mut square = [any; LANES];
    let (fours, rest) = square.as_chunks_mut();
    for four in fours {
        // Unrolled: after four steps each word is back in its original register, so no moves are needed.
        *four = [streams.step(), streams.step(), streams.step(), streams.step()];
    }
    for one in rest {
        *one = streams.step();
    }
    let size = almost_turn(&mut square);
    for (i, part) in square.chunks_exact_mut(size).enumerate() {
        let first = i * size;
        zip_halves(part);
        for (j, register) in part.iter().enumerate() {
            xor_into(rows.row(first + j), register.to_bytes().as_ref());
        }
    }
}

/// Zips the first half of the rows with the second, then the halves of these halves, and so on.
#[inline(always)]
pub(crate) fn turn<W, const LANES: usize, V: Lanes<W, LANES>>(rows: &mut [V; LANES]) {
    let size = almost_turn(rows);
    for part in rows.chunks_exact_mut(size) {
        zip_halves(part);
    }
}

/// Zips until the remaining parts stay in registers; returns their size. [`zip_halves`] then completes each part.
#[inline(always)]
fn almost_turn<W, const LANES: usize, V: Lanes<W, LANES>>(rows: &mut [V; LANES]) -> usize {
    let stride = LANES / AT_ONCE;
    if stride == 0 {
        return LANES;
    }
    for first in 0..stride {
        let mut block: [V; AT_ONCE] = core::array::from_fn(|i| rows[first + i * stride]);
        zip_halves(&mut block);
        for (i, row) in block.into_iter().enumerate() {
            rows[first + i * stride] = row;
        }
    }
    stride
}

#[inline(always)]
fn zip_halves<W, const LANES: usize, V: Lanes<W, LANES>>(rows: &mut [V]) {
    let mut half = rows.len() / 2;
    while half > 0 {
        for part in rows.chunks_exact_mut(2 * half) {
            let (first, second) = part.split_at_mut(half);
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = a.zip(*b);
            }
        }
        half /= 2;
    }
}

/// Transposes a matrix of 64 by 64 bits in each 64-bit lane: bit c of row r becomes bit r of row c.
#[inline(always)]
pub(crate) fn transpose<B: Bits>(rows: &mut [B; 64]) {
    for first in 0..8 {
        swap_blocks(rows, first, 8);
    }
    for first in (0..64).step_by(8) {
        swap_blocks(rows, first, 1);
    }
}

/// Three of the six steps, on eight rows `apart` from each other: swaps their blocks of size 4, 2 and 1 times
/// `apart`.
#[inline(always)]
fn swap_blocks<B: Bits>(rows: &mut [B; 64], first: usize, apart: usize) {
    macro_rules! swap {
        ($width:literal: $($one:literal $other:literal),*) => {
            let width = $width * apart as u32;
            // A mask of the columns whose number does not have the bit `width`.
            let low = rows[0].splat(u64::MAX / ((1 << width) + 1));
            $(let (one, other) = (first + $one * apart, first + $other * apart);
            let exchanged = (rows[one].shift_right(width) ^ rows[other]) & low;
            rows[one] = rows[one] ^ exchanged.shift_left(width);
            rows[other] = rows[other] ^ exchanged;)*
        };
    }
    swap!(4: 0 4, 1 5, 2 6, 3 7);
    swap!(2: 0 2, 1 3, 4 6, 5 7);
    swap!(1: 0 1, 2 3, 4 5, 6 7);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_turns_columns_into_rows() {
        let mut rows: [u64; 64] = core::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let before = rows;
        transpose(&mut rows);
        for (r, row) in rows.iter().enumerate() {
            for (c, column) in before.iter().enumerate() {
                assert_eq!(row >> c & 1, column >> r & 1, "row {r}, column {c}");
            }
        }
    }
}
