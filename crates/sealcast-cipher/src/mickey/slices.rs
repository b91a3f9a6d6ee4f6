//! Many keystreams at once, a packet in each bit of a register: irregular clocking becomes masks, shifting becomes
//! taking the stage before, and a clock some 260 (version 1) or 330 operations, for 512 packets as for one.

use core::marker::PhantomData;

#[cfg(target_arch = "x86_64")]
use super::Avx2;
use super::{Version, Words};
use crate::cipher::{Kernel, xor_into};
use crate::cpu::{Cpu, Task};
use crate::number;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
use crate::registers::{Bits, Lanes, Register, transpose, turn};
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};
use crate::side_by_side::{Rows, Streams};
use crate::wipe::wipe;

const MOST_STAGES: usize = 100;

/// A register that slices can be made of.
pub trait Width: Bits {
    /// As [`Streams::Alone`].
    type Alone<V: Version>: Kernel<Key: AsRef<[u8]>>;

    /// As [`Streams::LEAST`]. Measured with packets of 1200 bytes on a Zen 4: how long all lanes take, against packets
    /// alone.
    const LEAST: usize;
}

impl Width for u64 {
    type Alone<V: Version> = Words<V>;
    const LEAST: usize = 12;
}

#[cfg(target_arch = "x86_64")]
impl Width for Ymm {
    type Alone<V: Version> = Words<V>;
    const LEAST: usize = 10;
}

/// Half as wide takes 0.6 times as long: less than all lanes even with 6 packets alone behind its own 256.
#[cfg(target_arch = "x86_64")]
impl Width for Zmm {
    type Alone<V: Version> = Avx2<V>;
    const LEAST: usize = 263;
}

/// Not measured: words do as much at once on most of these processors, but hold 64 packets.
#[cfg(target_arch = "aarch64")]
impl Width for Quad {
    type Alone<V: Version> = Words<V>;
    const LEAST: usize = 65;
}

/// Stage `i` of both after one clock more, from its neighbours: no stage that decides anything is nearer to the first
/// one than there are clocks. Closures instead would be compiled without the registers' instructions.
macro_rules! after {
    ($name:ident: $clock:literal, $before:ident) => {
        #[inline(always)]
        fn $name<const CLOCKS: usize>(&self, i: usize, clocks: &[Clock<B>; CLOCKS]) -> Stage<B> {
            let at = self.$before(i, clocks);
            if i >= V::STAGES {
                return at;
            }
            let (below, above) = (self.$before(i - 1, clocks), self.$before(i + 1, clocks));
            Self::next(i, below, at, above.s, &clocks[$clock])
        }
    };
}

/// The registers: bit l of stage i belongs to packet l.
pub struct Slices<V: Version, B: Register, const WORDS: usize> {
    cpu: B::Cpu,
    r: [B; MOST_STAGES],
    s: [B; MOST_STAGES],
    /// Keystream on its way to the packets. Here, it is wiped once for a batch. One register more than are used keeps
    /// those of a lane apart in the cache.
    keystream: [[B; 64 + 1]; WORDS],
    version: PhantomData<V>,
}

/// What one clock does, decided before it moves anything.
#[derive(Clone, Copy)]
struct Clock<B> {
    /// Where R's control bit is 1, stages of R are added to the next ones instead of moved.
    control_r: B,
    feedback_r: B,
    feedback_s: B,
    /// What enters the stages of FB0 alone, and those of FB1 alone.
    entering: [B; 2],
}

/// One stage of both registers.
#[derive(Clone, Copy)]
struct Stage<B> {
    r: B,
    s: B,
}

/// What a sweep carries on from stage to stage for each of its clocks: the stage that the clock changes next, and that
/// of S above it, as they were before.
#[derive(Clone, Copy)]
struct Passing<B> {
    at: Stage<B>,
    s_above: B,
}

impl<V: Version, B: Bits + Lanes<u64, WORDS>, const WORDS: usize> Slices<V, B, WORDS> {
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

    /// Stage `i` of both after a clock.
    #[inline(always)]
    fn next(i: usize, below: Stage<B>, at: Stage<B>, s_above: B, clock: &Clock<B>) -> Stage<B> {
        Stage {
            r: Self::next_r(i, below.r, at.r, clock),
            s: Self::next_s(i, below.s, at.s, s_above, clock),
        }
    }

    /// Stage `i` of both after none of the clocks. Beyond the last one there is nothing.
    #[inline(always)]
    fn now<const CLOCKS: usize>(&self, i: usize, _clocks: &[Clock<B>; CLOCKS]) -> Stage<B> {
        let zero = self.zero();
        if i < V::STAGES {
            Stage {
                r: self.r[i],
                s: self.s[i],
            }
        } else {
            Stage { r: zero, s: zero }
        }
    }

    after!(after_one: 0, now);
    after!(after_two: 1, after_one);
    after!(after_three: 2, after_two);

    /// Changes stage `last` by the last clock, the one below it by the clock before, and so on: for each, all is there
    /// by then. Takes the keystream of the clock whose stage 0 comes past.
    #[inline(always)]
    fn pass<const CLOCKS: usize>(
        &mut self,
        last: usize,
        passing: &mut [Passing<B>; CLOCKS],
        clocks: &[Clock<B>; CLOCKS],
        keystream: &mut [B; CLOCKS],
    ) {
        if last >= V::STAGES + CLOCKS - 1 {
            return;
        }
        let zero = self.zero();
        let nothing = Stage { r: zero, s: zero };
        let mut stage = match last.checked_sub(CLOCKS) {
            Some(i) => self.now(i, clocks),
            None => nothing,
        };
        macro_rules! each {
            ($($clock:literal)*) => { $(if $clock < CLOCKS {
                let Passing { at, s_above } = passing[$clock];
                passing[$clock] = Passing { at: stage, s_above: at.s };
                stage = match (last + $clock + 1).checked_sub(CLOCKS) {
                    Some(i) if i < V::STAGES => Self::next(i, stage, at, s_above, &clocks[$clock]),
                    _ => nothing,
                };
                if last + $clock + 1 == CLOCKS {
                    keystream[$clock] = at.r ^ at.s;
                }
            })* };
        }
        each!(0 1 2 3);
        if last < V::STAGES {
            self.r[last] = stage.r;
            self.s[last] = stage.s;
        }
    }

    /// Two or four clocks in one sweep over the stages, the last one first: a fraction of the loads and stores, which
    /// are the bottleneck. Returns the keystream bits before each.
    #[inline(always)]
    fn clocks<const MIXING: bool, const CLOCKS: usize>(&mut self, input: &[B; CLOCKS]) -> [B; CLOCKS] {
        let zero = self.zero();
        let nothing = Clock {
            control_r: zero,
            feedback_r: zero,
            feedback_s: zero,
            entering: [zero; 2],
        };
        let mut clocks = [nothing; CLOCKS];
        macro_rules! decide {
            ($($clock:literal $stage:ident),*) => { $(if $clock < CLOCKS {
                let r = [V::R_CONTROL.1, V::S_CONTROL.1, V::STAGES - 1];
                let [r_control, s_control, r_last] =
                    [self.$stage(r[0], &clocks).r, self.$stage(r[1], &clocks).r, self.$stage(r[2], &clocks).r];
                let control_r = self.$stage(V::R_CONTROL.0, &clocks).s ^ r_control;
                let control_s = self.$stage(V::S_CONTROL.0, &clocks).s ^ s_control;
                let mixed_in = if MIXING { self.$stage(V::MIXED_IN, &clocks).s ^ input[$clock] } else { input[$clock] };
                let feedback_s = self.$stage(V::STAGES - 1, &clocks).s ^ input[$clock];
                clocks[$clock] = Clock {
                    control_r,
                    feedback_r: r_last ^ mixed_in,
                    feedback_s,
                    entering: [feedback_s & !control_s, feedback_s & control_s],
                };
            })* };
        }
        decide!(0 now, 1 after_one, 2 after_two, 3 after_three);
        let nothing = Passing {
            at: Stage { r: zero, s: zero },
            s_above: zero,
        };
        let mut passing = [nothing; CLOCKS];
        passing[0].at = self.now(V::STAGES - 1, &clocks);
        let mut keystream = [zero; CLOCKS];
        // Written out, so that the constants become code.
        macro_rules! each {
            ($($tens:literal)*) => { $(
                self.pass($tens + 9, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 8, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 7, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 6, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 5, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 4, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 3, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 2, &mut passing, &clocks, &mut keystream);
                self.pass($tens + 1, &mut passing, &clocks, &mut keystream);
                self.pass($tens, &mut passing, &clocks, &mut keystream);
            )* };
        }
        each!(100 90 80 70 60 50 40 30 20 10 0);
        keystream
    }

    /// Four clocks, in one sweep if there are registers enough for what a sweep carries along.
    #[inline(always)]
    fn four_clocks<const MIXING: bool>(&mut self, [a, b, c, d]: [B; 4]) -> [B; 4] {
        if WORDS == 8 {
            return self.clocks::<MIXING, 4>(&[a, b, c, d]);
        }
        let [first, second] = self.clocks::<MIXING, 2>(&[a, b]);
        let [third, fourth] = self.clocks::<MIXING, 2>(&[c, d]);
        [first, second, third, fourth]
    }

    /// Clears the packets of which nothing was mixed in yet, as far as `starting` has their bits.
    #[inline(always)]
    fn clear(&mut self, starting: B) {
        for stage in self.r.iter_mut().chain(&mut self.s) {
            *stage = *stage & !starting;
        }
    }
}

/// Makes the next 64 bits of each keystream, each of the words standing for 64 lanes: a function of its own, or what
/// the sweeps have no registers for would lie among all that a batch needs, and wait for it.
struct Word<'a, V: Version, B: Register, const WORDS: usize> {
    state: &'a mut Slices<V, B, WORDS>,
    /// Which of the words.
    at: usize,
}

impl<V: Version, B: Bits + Lanes<u64, WORDS>, const WORDS: usize> Task for Word<'_, V, B, WORDS> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { state, at } = self;
        for first in (0..64).step_by(8) {
            // A byte's first bit is its highest.
            for four in [4, 0] {
                let [a, b, c, d] = state.four_clocks::<false>([state.zero(); 4]);
                state.keystream[at][first + four..first + four + 4].copy_from_slice(&[d, c, b, a]);
            }
        }
        transpose(state.keystream[at].first_chunk_mut().expect("longer than that"));
    }
}

impl<const LANES: usize, const RUN: usize, V, B, const WORDS: usize> Streams<LANES, RUN> for Slices<V, B, WORDS>
where
    V: Version,
    B: Width + Lanes<u64, WORDS>,
{
    type Alone = B::Alone<V>;
    type Cpu = B::Cpu;
    const LEAST: usize = B::LEAST;

    #[inline(always)]
    fn start(cpu: B::Cpu, key: &<Self::Alone as Kernel>::Key, ivs: &[&[u8]; LANES]) -> Self {
        const { assert!(LANES == 64 * WORDS, "a packet takes a bit") };
        let (key, zero) = (key.as_ref(), B::load(cpu, [0; WORDS]));
        let mut state = Self {
            cpu,
            r: [zero; MOST_STAGES],
            s: [zero; MOST_STAGES],
            keystream: [[zero; 64 + 1]; WORDS],
            version: PhantomData,
        };
        // IVs end together; the registers of shorter ones are cleared when their turn comes.
        let longest = 8 * ivs.iter().map(|iv| iv.len()).max().unwrap_or(0);
        let iv_bits = [0, 64].map(|shift| columns(cpu, |lane| (number::big_endian(ivs[lane]) >> shift) as u64));
        for first in (0..longest + 8 * key.len() + V::STAGES).step_by(4) {
            let starts = |iv: &[u8]| 8 * iv.len() + first == longest;
            if (1..=longest).contains(&first) && ivs.iter().any(|iv| starts(iv)) {
                state.clear(column(cpu, |lane| u64::from(starts(ivs[lane]))));
            }
            let mut input = [zero; 4];
            for (at, input) in (first..).zip(&mut input) {
                if at < longest {
                    let bit = longest - 1 - at;
                    *input = iv_bits[bit / 64][bit % 64];
                } else if let Some(byte) = key.get((at - longest) / 8) {
                    *input = zero.splat(u64::from(byte >> (7 - at % 8) & 1).wrapping_neg());
                }
            }
            state.four_clocks::<true>(input);
        }
        state
    }

    #[inline(always)]
    fn xor(&mut self, mut rows: Rows<'_, '_, LANES, RUN>) {
        const { assert!(RUN == size_of::<B>(), "a row takes a register") };
        for at in 0..WORDS {
            self.cpu.run(Word { state: self, at });
        }
        for lane in 0..64 {
            let mut square: [B; WORDS] = core::array::from_fn(|i| self.keystream[i][lane]);
            turn(&mut square);
            for (word, register) in square.iter().enumerate() {
                xor_into(rows.row(64 * word + lane), register.to_bytes().as_ref());
            }
        }
    }

    #[inline(always)]
    fn wipe(&mut self) {
        let zero = self.zero();
        wipe(&mut self.r, [zero; MOST_STAGES]);
        wipe(&mut self.s, [zero; MOST_STAGES]);
        wipe(&mut self.keystream, [[zero; 64 + 1]; WORDS]);
    }
}

/// A register with a bit of each lane.
#[inline(always)]
fn column<const WORDS: usize, B: Lanes<u64, WORDS>>(cpu: B::Cpu, bit: impl Fn(usize) -> u64) -> B {
    let mut words = [0; WORDS];
    for (i, word) in words.iter_mut().enumerate() {
        for l in 0..64 {
            *word |= bit(64 * i + l) << l;
        }
    }
    B::load(cpu, words)
}

/// Registers with a bit of each lane, from 64 bits of each, the lowest first.
#[inline(always)]
fn columns<const WORDS: usize, B: Bits + Lanes<u64, WORDS>>(cpu: B::Cpu, word: impl Fn(usize) -> u64) -> [B; 64] {
    let mut bits: [B; 64] = core::array::from_fn(|lane| {
        let mut words = [0; WORDS];
        for (i, place) in words.iter_mut().enumerate() {
            *place = word(64 * i + lane);
        }
        B::load(cpu, words)
    });
    transpose(&mut bits);
    bits
}
