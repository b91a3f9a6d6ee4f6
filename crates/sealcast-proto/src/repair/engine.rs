//! The field arithmetic for small blocks: the library's, except for one step of decoding.

use reed_solomon_simd::engine::{DefaultEngine, Engine, GF_MODULUS, GF_ORDER, GfElement, ShardsRefMut, tables};

/// A power of two above the number of positions of the longest block: 64 for repair symbols and 128 for source records.
const SPAN: usize = 256;

/// The library's fastest engine for this machine, except for `eval_poly`, which computes what the decoder needs to know
/// about the positions of the losses.
///
/// The library transforms a table of the whole field for that, twice: some 170 µs however short the block is
/// (docs/repair.md). Here the value of a position is the sum of the logarithms of its distances to the losses, which
/// takes a few thousand additions at most.
pub(super) struct BlockEngine(DefaultEngine);

impl BlockEngine {
    /// The first engine of a process builds the library's tables, which takes some 8 MiB and several milliseconds.
    pub(super) fn new() -> Self {
        Self(DefaultEngine::new())
    }
}

impl Engine for BlockEngine {
    fn fft(&self, data: &mut ShardsRefMut<'_>, pos: usize, size: usize, truncated_size: usize, skew_delta: usize) {
        self.0.fft(data, pos, size, truncated_size, skew_delta);
    }

    fn ifft(&self, data: &mut ShardsRefMut<'_>, pos: usize, size: usize, truncated_size: usize, skew_delta: usize) {
        self.0.ifft(data, pos, size, truncated_size, skew_delta);
    }

    fn mul(&self, x: &mut [[u8; 64]], log_m: GfElement) {
        self.0.mul(x, log_m);
    }

    /// Only the first `positions` values are correct; the decoder reads no others.
    fn eval_poly(erasures: &mut [GfElement; GF_ORDER], positions: usize) {
        if positions > SPAN {
            return DefaultEngine::eval_poly(erasures, positions);
        }
        let log: &[GfElement; SPAN] = tables::get_exp_log().log[..SPAN].try_into().expect("a part of it");
        let (mut lost, mut count) = ([0; SPAN], 0);
        for (position, erased) in erasures[..positions].iter().enumerate() {
            if *erased != 0 {
                lost[count] = position;
                count += 1;
            }
        }
        for (position, value) in erasures[..positions].iter_mut().enumerate() {
            // A distance of 0 must add nothing. Its logarithm in the table is the modulus, which is the same.
            let sum: u32 = lost[..count]
                .iter()
                .map(|at| u32::from(log[(at ^ position) % SPAN]))
                .sum();
            *value = (sum % u32::from(GF_MODULUS)) as GfElement;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_placed_as_the_library_places_them() {
        for (positions, step) in [(1, 1), (3, 2), (21, 5), (157, 7), (192, 3), (256, 1), (300, 11)] {
            let mut ours = Box::new([0; GF_ORDER]);
            for position in (0..positions).step_by(step) {
                ours[position] = 1;
            }
            let mut theirs = ours.clone();
            BlockEngine::eval_poly(&mut ours, positions);
            DefaultEngine::eval_poly(&mut theirs, positions);
            for position in 0..positions {
                let (ours, theirs) = (ours[position] % GF_MODULUS, theirs[position] % GF_MODULUS);
                assert_eq!(ours, theirs, "{position} of {positions}");
            }
        }
    }
}
