//! Clocks both registers of many packets. The bits that control a clock come from few stages, so the control bits of
//! several clocks are computed before any stage moves. Then one sweep over each register applies all these clocks,
//! with a fraction of the loads and stores; the values that a sweep carries from stage to stage fit into the
//! processor's registers.

use core::marker::PhantomData;

use super::unrolled::CLOCKS;
use super::versions::{MOST_STAGES, Version};
use super::{r, s};
use crate::cpu::{Cpu, Task};
use crate::registers::{Bits, Register};
use crate::wipe::wipe;

/// The registers: bit l of stage i belongs to packet l.
pub(super) struct Registers<V: Version, B: Register> {
    cpu: B::Cpu,
    r: [B; MOST_STAGES],
    s: [B; MOST_STAGES],
    version: PhantomData<V>,
}

impl<V: Version, B: Bits> Registers<V, B> {
    /// Registers with all bits zero.
    #[inline(always)]
    pub(super) fn new(cpu: B::Cpu, zero: B) -> Self {
        Self {
            cpu,
            r: [zero; MOST_STAGES],
            s: [zero; MOST_STAGES],
            version: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn zero(&self) -> B {
        self.r[0].splat(0)
    }

    /// Clears the registers of the packets whose bits are 1.
    #[inline(always)]
    pub(super) fn clear(&mut self, packets: B) {
        for stage in self.r.iter_mut().chain(&mut self.s) {
            *stage = *stage & !packets;
        }
    }

    #[inline(always)]
    pub(super) fn wipe(&mut self) {
        let zero = self.zero();
        wipe(&mut self.r, [zero; MOST_STAGES]);
        wipe(&mut self.s, [zero; MOST_STAGES]);
    }

    /// Clocks once for each input bit. Returns the keystream bits before each clock.
    #[inline(always)]
    pub(super) fn clock<const MIXING: bool>(&mut self, input: [B; CLOCKS]) -> [B; CLOCKS] {
        let (cpu, registers) = (self.cpu, self);
        cpu.run(Clocks::<V, B, MIXING> { registers, input })
    }
}

/// Several clocks, in a function of their own: otherwise values that do not fit into registers would be spilled among
/// all that a batch needs, which takes longer.
struct Clocks<'a, V: Version, B: Register, const MIXING: bool> {
    registers: &'a mut Registers<V, B>,
    input: [B; CLOCKS],
}

impl<V: Version, B: Bits, const MIXING: bool> Task for Clocks<'_, V, B, MIXING> {
    type Output = [B; CLOCKS];

    #[inline(always)]
    fn run(self) -> [B; CLOCKS] {
        let Registers { cpu, r, s, .. } = self.registers;
        let [a, b, c, d] = self.input;
        let mut deciding = Deciding::<V, B>::new(r, s);
        let decided = [
            deciding.clock::<MIXING>(a),
            deciding.clock::<MIXING>(b),
            deciding.clock::<MIXING>(c),
            deciding.clock::<MIXING>(d),
        ];
        let [(a, ra, sa), (b, rb, sb), (c, rc, sc), (d, rd, sd)] = decided;
        cpu.run(Sweeps::<V, B> {
            r,
            s,
            clocks: ([ra, rb, rc, rd], [sa, sb, sc, sd]),
            version: PhantomData,
        });
        [a, b, c, d]
    }
}

/// Applies the computed clocks to all stages. A separate function, so that values from computing the control bits are
/// not kept in registers.
struct Sweeps<'a, V: Version, B> {
    r: &'a mut [B; MOST_STAGES],
    s: &'a mut [B; MOST_STAGES],
    clocks: ([r::Clock<B>; CLOCKS], [s::Entering<B>; CLOCKS]),
    version: PhantomData<V>,
}

impl<V: Version, B: Bits> Task for Sweeps<'_, V, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (r, s) = self.clocks;
        s::sweep::<V, B>(self.s, &s);
        r::sweep::<V, B>(self.r, &r);
    }
}

/// The stages that control bits depend on, and the first ones, which are keystream.
struct Deciding<V: Version, B> {
    r_first: B,
    r_to_r: r::Window<B>,
    r_to_s: r::Window<B>,
    r_last: r::Window<B>,
    s_first: B,
    s_to_r: s::Window<B>,
    s_to_s: s::Window<B>,
    s_mixed_in: s::Window<B>,
    s_last: s::Window<B>,
    version: PhantomData<V>,
}

impl<V: Version, B: Bits> Deciding<V, B> {
    #[inline(always)]
    fn new(r: &[B; MOST_STAGES], s: &[B; MOST_STAGES]) -> Self {
        Self {
            r_first: r[0],
            r_to_r: r::Window::of(r, V::R_CONTROL.1),
            r_to_s: r::Window::of(r, V::S_CONTROL.1),
            r_last: r::Window::of(r, V::STAGES - 1),
            s_first: s[0],
            s_to_r: s::Window::of::<V>(s, V::R_CONTROL.0),
            s_to_s: s::Window::of::<V>(s, V::S_CONTROL.0),
            s_mixed_in: s::Window::of::<V>(s, V::MIXED_IN),
            s_last: s::Window::of::<V>(s, V::STAGES - 1),
            version: PhantomData,
        }
    }

    /// The keystream bit before the next clock, and the effect of that clock on R and S.
    #[inline(always)]
    fn clock<const MIXING: bool>(&mut self, input: B) -> (B, r::Clock<B>, s::Entering<B>) {
        let zero = input.splat(0);
        let keystream = self.r_first ^ self.s_first;
        let mixed_in = if MIXING { input ^ self.s_mixed_in.stage() } else { input };
        let clock = r::Clock {
            control: self.s_to_r.stage() ^ self.r_to_r.stage(),
            feedback: self.r_last.stage() ^ mixed_in,
        };
        let entering = s::entering(self.s_to_s.stage() ^ self.r_to_s.stage(), self.s_last.stage() ^ input);

        self.r_first = r::next::<V, B>(0, zero, self.r_first, &clock);
        self.r_to_r.clock::<V>(V::R_CONTROL.1, &clock);
        self.r_to_s.clock::<V>(V::S_CONTROL.1, &clock);
        self.r_last.clock::<V>(V::STAGES - 1, &clock);
        self.s_first = s::next::<V, B>(0, zero, self.s_first, zero, &entering);
        self.s_to_r.clock::<V>(V::R_CONTROL.0, &entering);
        self.s_to_s.clock::<V>(V::S_CONTROL.0, &entering);
        self.s_mixed_in.clock::<V>(V::MIXED_IN, &entering);
        self.s_last.clock::<V>(V::STAGES - 1, &entering);
        (keystream, clock, entering)
    }
}
