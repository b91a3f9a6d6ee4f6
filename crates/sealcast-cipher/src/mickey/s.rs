//! S, the register that is not linear, of many packets: clocks pass over it like a wave, each on the stage below the
//! one that the clock before it is on.

use super::clocks::CLOCKS;
use super::versions::{MOST_STAGES, Version, bit};
use crate::registers::Bits;

/// What a clock brings in, decided before it moves anything: into the stages of FB1 alone, of FB0 alone, and of both.
pub(super) type Entering<B> = [B; 3];

/// What a clock with these two bits brings in.
#[inline(always)]
pub(super) fn entering<B: Bits>(control: B, feedback: B) -> Entering<B> {
    [feedback & control, feedback & !control, feedback]
}

/// A stage in the middle of its neighbours, as far as they matter to it within a sweep.
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

    /// `i` is the stage's number. The outermost ones are wrong then, which the stage never learns.
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

/// What a sweep carries on from stage to stage for each of its clocks: the stage that the clock changes next and the
/// one below it, as they were before.
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

/// The first clock changes the stage below number `first`, the next one that below this, and so on: for each, all is
/// there by then.
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
    // Above the last stage there is nothing, whatever this says.
    let mut stage = stages[first.min(V::STAGES - 1)];
    each!(clock in 0 1 2 3: {
        let Passing { below, at } = wave[clock];
        wave[clock] = Passing { below: at, at: stage };
        // Below the first stage there is nothing.
        stage = match first.checked_sub(clock + 1) {
            Some(i) => next::<V, B>(i, below, at, stage, &clocks[clock]),
            None => stage.splat(0),
        };
    });
    if first >= CLOCKS {
        stages[first - CLOCKS] = stage;
    }
}
