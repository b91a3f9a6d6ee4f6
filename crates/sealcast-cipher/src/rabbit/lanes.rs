//! Several packets in parallel: each word of the state is a register with that word of each packet.

use zeroize::Zeroize;

use super::definition::{A, Definition};
use crate::interleaved::{Batched, Rows, Streams};
use crate::number;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
use crate::registers::{Lanes, Words, columns};
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};

/// Keystream bytes of each packet per run: one cache line.
const RUN: usize = 64;

/// Batches of up to eight packets at once, for processors with AVX2.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Batched<8, RUN, Vectors<Ymm>>;

/// Batches of up to sixteen packets at once, for processors with AVX-512.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Batched<16, RUN, Vectors<Zmm>>;

/// Batches of up to four packets at once, for processors with NEON.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<4, RUN, Vectors<Quad>>;

/// The states of as many packets as a register has words.
#[derive(Clone, Copy, Zeroize)]
pub struct Vectors<W: Words> {
    x: [W; 8],
    counters: [W; 8],
    /// All bits are one if there is a carry.
    carry: W,
}

impl<W: Words> Vectors<W> {
    /// Counter system and next-state function, as in the definition.
    #[inline(always)]
    fn next_state(&mut self) {
        let zero = self.carry.splat(0);
        macro_rules! each {
            ($($j:literal)*) => { [$({
                let counter = self.counters[$j];
                // A minus -1 does not overflow, so there is a carry exactly if the sum is less than one of its
                // summands.
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

    /// IV set-up, in the lanes that have an IV, with its low and high words.
    #[inline(always)]
    fn mix(&mut self, [low, high]: [W; 2], given: W) {
        let key = *self;
        let half = low.splat(0xFFFF);
        let outer = (high & !half) ^ low.shift_right(16);
        let inner = high.shift_left(16) ^ (low & half);
        for (counter, word) in self
            .counters
            .iter_mut()
            .zip([low, outer, high, inner, low, outer, high, inner])
        {
            *counter = *counter ^ word;
        }
        for _ in 0..4 {
            self.next_state();
        }
        let choose = |one: W, other: W| other ^ ((one ^ other) & given);
        self.x = core::array::from_fn(|i| choose(self.x[i], key.x[i]));
        self.counters = core::array::from_fn(|i| choose(self.counters[i], key.counters[i]));
        self.carry = choose(self.carry, key.carry);
    }
}

impl<const LANES: usize, W: Words + Lanes<u32, LANES>> Streams<LANES, RUN> for Vectors<W> {
    type Alone = Definition;
    type Cpu = W::Cpu;

    #[inline(always)]
    fn start(cpu: W::Cpu, key: &Definition, ivs: &[&[u8]; LANES]) -> Self {
        let [low, high, given]: [W; 3] = columns(cpu, ivs, words);
        let mut state = Self {
            x: key.x.map(|word| low.splat(word)),
            counters: key.counters.map(|word| low.splat(word)),
            carry: low.splat(key.carry.wrapping_neg()),
        };
        state.mix([low, high], given);
        state
    }

    #[inline(always)]
    fn xor(&mut self, mut rows: Rows<'_, '_, LANES, RUN>) {
        let mut rows = rows.each();
        for at in (0..RUN).step_by(16) {
            self.next_state();
            let x = self.x;
            macro_rules! each {
                ($($i:literal)*) => {
                    [$(x[2 * $i] ^ x[(2 * $i + 5) % 8].shift_right(16) ^ x[(2 * $i + 3) % 8].shift_left(16)),*]
                };
            }
            W::xor(each!(0 1 2 3), &mut rows, at);
        }
    }

    #[inline(always)]
    fn wipe(&mut self) {
        self.zeroize();
    }
}

/// The words of an IV, and all bits one unless it is empty.
#[inline(always)]
fn words(iv: &[u8]) -> [u32; 3] {
    let [low, high] = if iv.is_empty() { [0; 2] } else { number::words(iv) };
    [low, high, u32::from(!iv.is_empty()).wrapping_neg()]
}
