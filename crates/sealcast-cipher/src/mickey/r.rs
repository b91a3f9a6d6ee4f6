//! R, the linear register, for many packets.
//!
//! MICKEY's specification has R as a Galois register and a clock of it as a multiplication. With stage i as the
//! coefficient of x^i, the control bit c, the feedback bit f and the taps T, the polynomial r over GF(2) becomes
//! (x + c) r + f T, without the terms beyond the last stage. So several clocks turn r into m r + g T, where m = 1 and
//! g = 0 before the first one, and each clock does this:
//!
//! ```text
//! m becomes (x + c) m,    g becomes (x + c) g + f.
//! ```
//!
//! The order of the factors does not matter to m, and (x + 1)^2 = x^2 + 1. So if n0 + 2 n1 of the first three control
//! bits are 1, two factors represent them, and the fourth control bit has its own factor:
//!
//! ```text
//! m = (x + n0) (x^2 + n1) (x + c).
//! ```
//!
//! A stage of g T is a sum of some coefficients of g. The taps at the stage and at the three below it select them,
//! which is known at compile time.

use super::unrolled::CLOCKS;
use super::versions::{MOST_STAGES, Version, bit};
use crate::registers::Bits;

/// The effect of a clock, computed before any stage moves.
#[derive(Clone, Copy)]
pub(super) struct Clock<B> {
    /// Where this is 1, stages are added to the next ones instead of moved.
    pub(super) control: B,
    pub(super) feedback: B,
}

/// A stage and those below it, as far as they affect it within a sweep; the stage itself is the last element.
pub(super) struct Window<B>([B; CLOCKS]);

impl<B: Bits> Window<B> {
    #[inline(always)]
    pub(super) fn of(stages: &[B; MOST_STAGES], i: usize) -> Self {
        let mut window = [stages[i]; CLOCKS];
        each!(k in 0 1 2: window[k] = stages[i + k + 1 - CLOCKS]);
        Self(window)
    }

    #[inline(always)]
    pub(super) fn stage(&self) -> B {
        self.0[CLOCKS - 1]
    }

    /// `i` is the number of the stage. The lowest elements become wrong, but no longer affect the stage.
    #[inline(always)]
    pub(super) fn clock<V: Version>(&mut self, i: usize, clock: &Clock<B>) {
        each!(k in 3 2 1: self.0[k] = next::<V, B>(i + k + 1 - CLOCKS, self.0[k - 1], self.0[k], clock));
    }
}

/// Stage `i` after a clock.
#[inline(always)]
pub(super) fn next<V: Version, B: Bits>(i: usize, below: B, at: B, clock: &Clock<B>) -> B {
    let moved = below ^ (at & clock.control);
    if bit(V::R_TAPS, i) {
        moved ^ clock.feedback
    } else {
        moved
    }
}

/// A factor x^N + c of m. Coefficients pass through it from the lowest on.
struct Factor<B, const N: usize> {
    constant: B,
    /// The last N coefficients.
    past: [B; N],
}

impl<B: Bits, const N: usize> Factor<B, N> {
    #[inline(always)]
    fn new(constant: B) -> Self {
        let past = [constant.splat(0); N];
        Self { constant, past }
    }

    #[inline(always)]
    fn times(&mut self, i: usize, coefficient: B) -> B {
        let shifted = self.past[i % N];
        self.past[i % N] = coefficient;
        shifted ^ (coefficient & self.constant)
    }
}

/// Clocks all stages, from the first one on.
#[inline(always)]
pub(super) fn sweep<V: Version, B: Bits>(stages: &mut [B; MOST_STAGES], clocks: &[Clock<B>; CLOCKS]) {
    let [a, b, c, d] = clocks.map(|clock| clock.control);
    let mut factors = Factors {
        one: Factor::new(a ^ b ^ c),
        two: Factor::new((a & b) ^ (c & (a ^ b))),
        other: Factor::new(d),
    };
    let sums = sums(clocks);
    sweep!(i: pass::<V, B>(i, stages, &mut factors, &sums));
}

/// The factors of m.
struct Factors<B> {
    one: Factor<B, 1>,
    two: Factor<B, 2>,
    other: Factor<B, 1>,
}

/// Clocks stage `i`, after all below it.
#[inline(always)]
fn pass<V: Version, B: Bits>(i: usize, stages: &mut [B; MOST_STAGES], factors: &mut Factors<B>, sums: &[B; 16]) {
    if i >= V::STAGES {
        return;
    }
    let moved = factors.two.times(i, factors.one.times(i, stages[i]));
    let moved = factors.other.times(i, moved);
    stages[i] = match chosen::<V>(i) {
        0 => moved,
        some => moved ^ sums[some],
    };
}

/// All sums of subsets of g's coefficients; bit k of the index selects coefficient k.
#[inline(always)]
fn sums<B: Bits>(clocks: &[Clock<B>; CLOCKS]) -> [B; 16] {
    let zero = clocks[0].control.splat(0);
    let mut g = [zero; CLOCKS];
    each!(clock in 0 1 2 3: {
        let Clock { control, feedback } = clocks[clock];
        each!(k in 3 2 1: g[k] = g[k - 1] ^ (g[k] & control));
        g[0] = feedback ^ (g[0] & control);
    });
    let mut sums = [zero; 16];
    each!(k in 0 1 2 3: for rest in 0..1 << k {
        sums[1 << k | rest] = sums[rest] ^ g[k];
    });
    sums
}

/// The coefficients of g that the taps select for stage `i`, as an index of the sums.
#[inline(always)]
fn chosen<V: Version>(i: usize) -> usize {
    let mut chosen = 0;
    each!(k in 0 1 2 3: chosen |= usize::from(bit(V::R_TAPS << k, i)) << k);
    chosen
}
