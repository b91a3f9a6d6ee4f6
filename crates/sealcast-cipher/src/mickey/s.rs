//! S, the nonlinear register, for many packets. Clocks pass over it like a wave, each one stage below the previous
//! clock.

use super::unrolled::CLOCKS;
use super::versions::{MOST_STAGES, Version, bit};
use crate::registers::Bits;

/// The feedback of a clock, computed before any stage moves: for the stages of FB1 alone, of FB0 alone, and of both.
pub(super) type Entering<B> = [B; 3];

/// The feedback of a clock with these two bits.
#[inline(always)]
pub(super) fn entering<B: Bits>(control: B, feedback: B) -> Entering<B> {
    [feedback & control, feedback & !control, feedback]
}

/// A stage with its neighbours on both sides, as far as they affect it within a sweep.
pub(super) struct Window<B>([B; 2 * CLOCKS - 1]);

impl<B: Bits> Window<B> {
    #[inline(always)]
    pub(super) fn of<V: Version>(stages: &[B; MOST_STAGES], i: usize) -> Self {
        let mut window = [stages[i]; 2 * CLOCKS - 1];
        each!(k in 0 1 2 3 4 5 6: if i + k + 1 - CLOCKS < V::STAGES {
            window[k] = stages[i + k + 1 - CLOCKS];
        });
        Self(window)
    }

    #[inline(always)]
    pub(super) fn stage(&self) -> B {
        self.0[CLOCKS - 1]
    }

    /// `i` is the number of the stage. The outermost elements become wrong, but no longer affect the stage.
    #[inline(always)]
    pub(super) fn clock<V: Version>(&mut self, i: usize, entering: &Entering<B>) {
        let before = self.0;
        each!(k in 1 2 3 4 5: {
            let i = i + k + 1 - CLOCKS;
            self.0[k] = next::<V, B>(i, before[k - 1], before[k], before[k + 1], entering);
        });
    }
}

/// Stage `i` after a clock.
#[inline(always)]
pub(super) fn next<V: Version, B: Bits>(i: usize, below: B, at: B, above: B, entering: &Entering<B>) -> B {
    let flipped = |constant, stage: B| if bit(constant, i) { !stage } else { stage };
    let moved = if i > 0 && i < V::STAGES - 1 {
        below ^ (flipped(V::COMP0, at) & flipped(V::COMP1, above))
    } else {
        below
    };
    match (bit(V::FB0, i), bit(V::FB1, i)) {
        (false, false) => moved,
        (false, true) => moved ^ entering[0],
        (true, false) => moved ^ entering[1],
        (true, true) => moved ^ entering[2],
    }
}

/// The state of a sweep between stages, for each of its clocks: the stage that the clock changes next and the one
/// below it, both with their values before the clock.
#[derive(Clone, Copy)]
struct Passing<B> {
    below: B,
    at: B,
}

/// Clocks all stages, from the first one on.
#[inline(always)]
pub(super) fn sweep<V: Version, B: Bits>(stages: &mut [B; MOST_STAGES], clocks: &[Entering<B>; CLOCKS]) {
    let zero = stages[0].splat(0);
    let mut wave = [Passing { below: zero, at: zero }; CLOCKS];
    sweep!(first: pass::<V, B>(first, stages, &mut wave, clocks));
}

/// The first clock changes the stage below number `first`, the next clock the one below that, and so on. The inputs
/// of each are complete by then.
#[inline(always)]
fn pass<V: Version, B: Bits>(
    first: usize,
    stages: &mut [B; MOST_STAGES],
    wave: &mut [Passing<B>; CLOCKS],
    clocks: &[Entering<B>; CLOCKS],
) {
    if first >= V::STAGES + CLOCKS {
        return;
    }
    // Above the last stage this value has no effect.
    let mut stage = stages[first.min(V::STAGES - 1)];
    each!(clock in 0 1 2 3: {
        let Passing { below, at } = wave[clock];
        wave[clock] = Passing { below: at, at: stage };
        // There are no stages below the first.
        stage = match first.checked_sub(clock + 1) {
            Some(i) => next::<V, B>(i, below, at, stage, &clocks[clock]),
            None => stage.splat(0),
        };
    });
    if first >= CLOCKS {
        stages[first - CLOCKS] = stage;
    }
}
