//! The arithmetic of small blocks: the library's, but for one step of decoding.

use reed_solomon_simd::engine::{DefaultEngine, Engine, GF_MODULUS, GF_ORDER, GfElement, ShardsRefMut, tables};

/// A power of two above the positions of the longest block, 64 for repairs and 128 for sources.
const SPAN: usize = 256;

/// The library's fastest engine for this machine, except that it places the losses of a block by a sum over them.
///
/// The library transforms a table of the whole field for that, twice: some 200 µs however short the block is. Here a
/// position's value is the sum of the logarithms of its distances to the losses, a few thousand additions at most.
pub(super) struct BlockEngine(DefaultEngine);

impl BlockEngine {
    /// The first one of a process makes the library's tables: some 8 MiB and milliseconds.
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

    /// Only the first `positions` values are right, and the decoder reads no others.
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
            // The logarithm of 0 stands for 0 here, and the table has the modulus for it, which is the same.
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
