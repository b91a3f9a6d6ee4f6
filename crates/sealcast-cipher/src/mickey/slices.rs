//! Many keystreams at once, a packet in each bit of a register: irregular clocking becomes masks, shifting becomes
//! taking the stage before, and a clock some 260 (version 1) or 330 operations, for 512 packets as for one.

use core::marker::PhantomData;

use zeroize::Zeroize;

use super::Version;
use crate::registers::{Bits, transpose};

const MOST_STAGES: usize = 100;

/// Bytes of each keystream that [`Slices::run`] yields.
pub(super) const RUN: usize = 64;

/// The registers: bit l of stage i belongs to packet l.
#[derive(Zeroize)]
pub struct Slices<V: Version, B: Bits> {
    r: [B; MOST_STAGES],
    s: [B; MOST_STAGES],
    #[zeroize(skip)]
    version: PhantomData<V>,
}

/// What one clock does, decided before it moves anything.
struct Clock<B> {
    /// Where R's control bit is 1, stages of R are added to the next ones instead of moved.
    control_r: B,
    feedback_r: B,
    feedback_s: B,
    /// What enters the stages of FB0 alone, and those of FB1 alone.
    entering: [B; 2],
}

/// The stages around the one that a sweep has come to, in the order of time.
struct Passing<B> {
    r: B,
    s: B,
    s_above: B,
    next_r_above: B,
    next_s_above: B,
    next_s_two_above: B,
}

impl<V: Version, B: Bits> Slices<V, B> {
    /// Stage `i` of R after a clock.
    #[inline(always)]
    fn next_r(i: usize, below: B, at: B, clock: &Clock<B>) -> B {
        let moved = below ^ (at & clock.control_r);
        if V::R_TAPS >> i & 1 == 1 {
            moved ^ clock.feedback_r
        } else {
            moved
        }
    }

    /// Stage `i` of S after a clock.
    #[inline(always)]
    fn next_s(i: usize, below: B, at: B, above: B, clock: &Clock<B>) -> B {
        let flipped = |constant: u128, stage: B| if constant >> i & 1 == 1 { !stage } else { stage };
        let moved = if i > 0 && i < V::STAGES - 1 {
            below ^ (flipped(V::COMP0, at) & flipped(V::COMP1, above))
        } else {
            below
        };
        match (V::FB0 >> i & 1, V::FB1 >> i & 1) {
            (0, 0) => moved,
            (1, 1) => moved ^ clock.feedback_s,
            (1, _) => moved ^ clock.entering[0],
            _ => moved ^ clock.entering[1],
        }
    }

    #[inline(always)]
    fn zero(&self) -> B {
        self.r[0].splat(0)
    }

    /// Stage `i` of both, now or after a clock.
    #[inline(always)]
    fn look(&self, i: usize, after: Option<&Clock<B>>) -> (B, B) {
        let Some(clock) = after else {
            return (self.r[i], self.s[i]);
        };
        // No control is taken from stage 0.
        let (r, s) = (self.r[i - 1], self.s[i - 1]);
        let above = self.s[(i + 1).min(V::STAGES - 1)];
        (
            Self::next_r(i, r, self.r[i], clock),
            Self::next_s(i, s, self.s[i], above, clock),
        )
    }

    #[inline(always)]
    fn decide<const MIXING: bool>(&self, input: B, after: Option<&Clock<B>>) -> Clock<B> {
        let r = |i| self.look(i, after).0;
        let s = |i| self.look(i, after).1;
        let mixed_in = if MIXING { s(V::MIXED_IN) ^ input } else { input };
        let control_s = s(V::S_CONTROL.0) ^ r(V::S_CONTROL.1);
        let feedback_s = s(V::STAGES - 1) ^ input;
        Clock {
            control_r: s(V::R_CONTROL.0) ^ r(V::R_CONTROL.1),
            feedback_r: r(V::STAGES - 1) ^ mixed_in,
            feedback_s,
            entering: [feedback_s & !control_s, feedback_s & control_s],
        }
    }

    /// One stage of the first clock, and the one above of the second, for which all is there by then.
    #[inline(always)]
    fn pass(&mut self, i: usize, passing: Passing<B>, [first, second]: &[Clock<B>; 2]) -> Passing<B> {
        if i >= V::STAGES {
            return passing;
        }
        let (r_below, s_below) = if i > 0 {
            (self.r[i - 1], self.s[i - 1])
        } else {
            (self.zero(), self.zero())
        };
        let next_r = Self::next_r(i, r_below, passing.r, first);
        let next_s = Self::next_s(i, s_below, passing.s, passing.s_above, first);
        if i + 1 < V::STAGES {
            self.r[i + 1] = Self::next_r(i + 1, next_r, passing.next_r_above, second);
            self.s[i + 1] = Self::next_s(i + 1, next_s, passing.next_s_above, passing.next_s_two_above, second);
        }
        Passing {
            r: r_below,
            s: s_below,
            s_above: passing.s,
            next_r_above: next_r,
            next_s_above: next_s,
            next_s_two_above: passing.next_s_above,
        }
    }

    /// Two clocks in one sweep over the stages, the last one first: half the loads and stores, which are the
    /// bottleneck. Returns the keystream bits before either.
    #[inline(always)]
    fn two_clocks<const MIXING: bool>(&mut self, input: [B; 2]) -> [B; 2] {
        let keystream = self.r[0] ^ self.s[0];
        let first = self.decide::<MIXING>(input[0], None);
        let second = self.decide::<MIXING>(input[1], Some(&first));
        let clocks = [first, second];
        let zero = self.zero();
        let mut passing = Passing {
            r: self.r[V::STAGES - 1],
            s: self.s[V::STAGES - 1],
            s_above: zero,
            next_r_above: zero,
            next_s_above: zero,
            next_s_two_above: zero,
        };
        // Written out, so that the constants become code.
        macro_rules! each {
            ($($tens:literal)*) => { $(
                passing = self.pass($tens + 9, passing, &clocks);
                passing = self.pass($tens + 8, passing, &clocks);
                passing = self.pass($tens + 7, passing, &clocks);
                passing = self.pass($tens + 6, passing, &clocks);
                passing = self.pass($tens + 5, passing, &clocks);
                passing = self.pass($tens + 4, passing, &clocks);
                passing = self.pass($tens + 3, passing, &clocks);
                passing = self.pass($tens + 2, passing, &clocks);
                passing = self.pass($tens + 1, passing, &clocks);
                passing = self.pass($tens, passing, &clocks);
            )* };
        }
        each!(90 80 70 60 50 40 30 20 10 0);
        let (r, s) = (passing.next_r_above, passing.next_s_above);
        self.r[0] = Self::next_r(0, zero, r, &clocks[1]);
        self.s[0] = Self::next_s(0, zero, s, passing.next_s_two_above, &clocks[1]);
        [keystream, r ^ s]
    }

    /// Mixes in a byte of each packet, its bits in the order of time.
    #[inline(always)]
    fn mix(&mut self, bits: &[B; 8]) {
        for pair in bits.as_chunks::<2>().0 {
            self.two_clocks::<true>(*pair);
        }
    }

    /// Clears the packets of which nothing was mixed in yet, as far as `starting` has their bits.
    #[inline(always)]
    fn clear(&mut self, starting: B) {
        for stage in self.r.iter_mut().chain(&mut self.s) {
            *stage = *stage & !starting;
        }
    }

    #[inline(always)]
    pub(super) fn start<const LANES: usize>(cpu: B::Cpu, key: &[u8; 10], ivs: &[&[u8]; LANES]) -> Self {
        let zero = B::load(cpu, &[0; 8]);
        let mut state = Self {
            r: [zero; MOST_STAGES],
            s: [zero; MOST_STAGES],
            version: PhantomData,
        };
        // IVs end together; the registers of shorter ones are cleared when their turn comes.
        let longest = ivs.iter().map(|iv| iv.len()).max().unwrap_or(0);
        for left in (0..=longest).rev() {
            if left < longest {
                state.clear(column(cpu, |lane| u64::from(ivs[lane].len() == left)));
            }
            if left > 0 {
                let byte = |lane: usize| {
                    let iv: &[u8] = ivs[lane];
                    iv.len().checked_sub(left).map_or(0, |at| iv[at])
                };
                state.mix(&core::array::from_fn(|i| {
                    column(cpu, |lane| u64::from(byte(lane) >> (7 - i) & 1))
                }));
            }
        }
        for byte in key {
            state.mix(&core::array::from_fn(|i| {
                zero.splat(u64::from(byte >> (7 - i) & 1).wrapping_neg())
            }));
        }
        for _ in 0..V::STAGES / 2 {
            state.two_clocks::<true>([zero; 2]);
        }
        state
    }

    /// The next bytes of each keystream.
    #[inline(always)]
    pub(super) fn run<const LANES: usize>(&mut self, rows: &mut [[u8; RUN]; LANES]) {
        for at in (0..RUN).step_by(8) {
            let mut bits = [self.zero(); 64];
            for clock in (0..64).step_by(2) {
                // A byte's first bit is its highest.
                [bits[clock ^ 7], bits[(clock + 1) ^ 7]] = self.two_clocks::<false>([self.zero(); 2]);
            }
            transpose(&mut bits);
            for (word, rows) in rows.as_chunks_mut::<64>().0.iter_mut().enumerate() {
                for (row, column) in rows.iter_mut().zip(&bits) {
                    row[at..at + 8].copy_from_slice(&column.word(word).to_le_bytes());
                }
            }
        }
    }
}

/// A register with a bit of each lane.
#[inline(always)]
fn column<B: Bits>(cpu: B::Cpu, bit: impl Fn(usize) -> u64) -> B {
    let mut words = [0; 8];
    for (i, word) in words[..B::WORDS].iter_mut().enumerate() {
        for l in 0..64 {
            *word |= bit(64 * i + l) << l;
        }
    }
    B::load(cpu, &words)
}
