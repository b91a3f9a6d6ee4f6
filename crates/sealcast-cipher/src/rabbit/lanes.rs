//! Packets side by side, each word of the state a register with the packets' words.

use zeroize::Zeroize;

use super::definition::{A, Definition};
use crate::registers::Words;

/// Bytes of each keystream that [`Lanes::run`] yields: a line of the cache.
pub(super) const RUN: usize = 64;

/// The states of as many packets as a register has words.
#[derive(Zeroize)]
pub struct Lanes<W: Words> {
    x: [W; 8],
    counters: [W; 8],
    /// All bits one for a carry.
    carry: W,
}

impl<W: Words> Lanes<W> {
    /// Of one state for each lane.
    #[inline(always)]
    pub(super) fn gather<const LANES: usize>(cpu: W::Cpu, states: &[Definition; LANES]) -> Self {
        let word = |of: fn(&Definition, usize) -> u32, i: usize| {
            let mut words = [0; LANES];
            for (word, state) in words.iter_mut().zip(states) {
                *word = of(state, i);
            }
            W::load(cpu, &words)
        };
        let zero = W::load(cpu, &[0; LANES]);
        let mut lanes = Self {
            x: [zero; 8],
            counters: [zero; 8],
            carry: word(|state, _| state.carry.wrapping_neg(), 0),
        };
        for i in 0..8 {
            lanes.x[i] = word(|state, i| state.x[i], i);
            lanes.counters[i] = word(|state, i| state.counters[i], i);
        }
        lanes
    }

    /// Counter system and next-state function, as in the definition.
    #[inline(always)]
    fn next_state(&mut self) {
        let zero = self.carry.splat(0);
        macro_rules! each {
            ($($j:literal)*) => { [$({
                let counter = self.counters[$j];
                // A less -1 does not overflow, so there is a carry where the sum is less than what it was made of.
                let addend = zero.splat(A[$j]).minus(self.carry);
                self.counters[$j] = counter.plus(addend);
                self.carry = self.counters[$j].less(counter);
                self.x[$j].plus(self.counters[$j]).folded_square()
            }),*] };
        }
        let g = each!(0 1 2 3 4 5 6 7);
        macro_rules! even {
            ($($j:literal)*) => { $(
                self.x[$j] = g[$j].plus(g[($j + 7) % 8].rotate_left(16)).plus(g[($j + 6) % 8].rotate_left(16));
            )* };
        }
        macro_rules! odd {
            ($($j:literal)*) => { $(
                self.x[$j] = g[$j].plus(g[$j - 1].rotate_left(8)).plus(g[($j + 6) % 8]);
            )* };
        }
        even!(0 2 4 6);
        odd!(1 3 5 7);
    }

    /// The next bytes of each keystream.
    #[inline(always)]
    pub(super) fn run<const LANES: usize>(&mut self, rows: &mut [[u8; RUN]; LANES]) {
        for at in (0..RUN).step_by(16) {
            self.next_state();
            let x = self.x;
            macro_rules! each {
                ($($i:literal)*) => {
                    [$(x[2 * $i] ^ x[(2 * $i + 5) % 8].shift_right(16) ^ x[(2 * $i + 3) % 8].shift_left(16)),*]
                };
            }
            W::write(each!(0 1 2 3), rows, at);
        }
    }
}
