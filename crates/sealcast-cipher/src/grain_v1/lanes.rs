//! Sixteen clocks per step, in lanes of 16 bits.

use super::words::Register as Stages;
use super::{WARM_UP_CLOCKS, Words};
use crate::interleaved::{Batched, Rows, Streams};
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
use crate::registers::{self, Lanes, Shifts, Steps, columns, xor};
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};

/// Shift distances for [`Vectors::sums`].
const MOVES: [u32; 3] = [14, 4, 9];

/// Sixteen packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Batched<16, 32, Vectors<Ymm>>;
/// Thirty-two packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Batched<32, 64, Vectors<Zmm>>;
/// Eight packets in parallel.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<8, 16, Vectors<Quad>>;

/// A register in five words. The first stage is the least significant bit of the first word.
#[derive(Clone, Copy)]
struct Register<V>([V; 5]);

/// The registers, and shifted words kept from earlier steps.
pub struct Vectors<V> {
    nfsr: Register<V>,
    lfsr: Register<V>,
    /// Results of [`Vectors::taps`] one, two and three steps ago.
    taps: [[V; 12]; 3],
    /// Result of [`Vectors::sums`] one step ago.
    sums: [V; 3],
}

impl<V: Shifts<u16>> Register<V> {
    /// Stages `first` to `first + 15`, not aligned to a word.
    #[inline(always)]
    fn at(self, first: u32) -> V {
        let word = (first / 16) as usize;
        self.0[word].funnel(self.0[word + 1], first % 16)
    }

    /// The register 16 clocks later; `entering` are its last stages.
    #[inline(always)]
    fn shifted(self, entering: V) -> Self {
        let Self([_, second, third, fourth, last]) = self;
        Self([second, third, fourth, last, entering])
    }
}

/// Shifts dominate the running time, so there are few of them, as in Grain-128a. A tap is shifted when its stages
/// come within reach; one, two or three steps later, the same word is the tap 16, 32 or 48 stages before. Where
/// possible, sums are shifted instead of their taps. That leaves 15 shifts of 18.
impl<V: Shifts<u16>> Vectors<V> {
    /// The taps that come within reach in this step.
    #[inline(always)]
    fn taps(&self) -> [V; 12] {
        let (b, s) = (self.nfsr, self.lfsr);
        [
            b.at(33),
            b.at(37),
            b.at(52),
            b.at(60),
            b.at(63),
            s.at(51),
            s.at(62),
            b.at(9),
            b.at(43),
            b.at(45),
            s.at(25),
            s.at(38),
        ]
    }

    /// Sums that are shifted by [`MOVES`] and then become part of the feedback or of the output.
    #[inline(always)]
    fn sums(&self, taps: [V; 12]) -> [V; 3] {
        let Register([_, b16, _, _, b64]) = self.nfsr;
        let [_, _, _, _, b63, _, _, b9, _, _, s25, _] = taps;
        let [b17, _, _, _, _, s35, ..] = self.taps[0];
        [b16 ^ b64, s25 ^ s35, b9 ^ b17 ^ b63]
    }

    /// Advances by 16 clocks; `into_b` and `into_s` are the new last stages.
    #[inline(always)]
    fn shift(&mut self, taps: [V; 12], sums: [V; 3], into_b: V, into_s: V) {
        *self = Self {
            nfsr: self.nfsr.shifted(into_b),
            lfsr: self.lfsr.shifted(into_s),
            taps: [taps, self.taps[0], self.taps[1]],
            sums,
        };
    }

    /// 16 bits of output of each packet, the first in bit 0; during warm-up it is fed back.
    #[inline(always)]
    fn clock(&mut self, warming_up: bool) -> V {
        let taps = self.taps();
        let sums = self.sums(taps);
        let [b14_62, s13_23, b2_10_56] = core::array::from_fn(|i| self.sums[i].funnel(sums[i], MOVES[i]));
        let (Register([b0, ..]), Register([s0, .., s64])) = (self.nfsr, self.lfsr);
        let [b33, b37, b52, b60, b63, s51, s62, b9, b43, b45, s25, s38] = taps;
        let [_, b21, _, _, _, _, s46, ..] = self.taps[0];
        let [b1, _, _, b28, b31, ..] = self.taps[1];
        let [_, _, b4, _, b15, s3, ..] = self.taps[2];

        let (x0, x1, x2, x3, x4) = (s3, s25, s46, s64, b63);
        let h = x1 ^ x4 ^ (x3 & (x0 ^ x2 ^ x4)) ^ (x2 & ((x0 & (x1 ^ x3 ^ x4)) ^ (x4 & (x1 ^ x3))));
        let z = h ^ b1 ^ b4 ^ b31 ^ b43 ^ b2_10_56;
        let f = s62 ^ s51 ^ s38 ^ s0 ^ s13_23;
        let linear = b60 ^ b52 ^ b45 ^ b37 ^ b33 ^ b28 ^ b21 ^ b9 ^ b0 ^ b14_62;
        let (b63_60, b52_45, b37_33, b28_21) = (b63 & b60, b52 & b45, b37 & b33, b28 & b21);
        // The paper's products, factored; x | y is x ^ y ^ (x & y).
        let products = (b60 & (b63 ^ b52_45))
            ^ b37_33
            ^ ((b33 & b28_21) | (b15 & b9))
            ^ (b37_33 & ((b60 & b52) ^ (b52_45 & b28_21)))
            ^ (b63_60 & ((b21 & b15) ^ (b52_45 & b37)))
            ^ (b63 & b45 & b28 & b9);
        let g = s0 ^ linear ^ products;
        let (into_b, into_s) = if warming_up { (g ^ z, f ^ z) } else { (g, f) };
        self.shift(taps, sums, into_b, into_s);
        z
    }
}

impl<V: Shifts<u16>> Steps<V> for Vectors<V> {
    #[inline(always)]
    fn step(&mut self) -> V {
        self.clock(false)
    }
}

impl<const LANES: usize, const RUN: usize, V> Streams<LANES, RUN> for Vectors<V>
where
    V: Shifts<u16> + Lanes<u16, LANES> + registers::Words,
{
    type Alone = Words;
    type Cpu = V::Cpu;

    #[inline(always)]
    fn start(cpu: V::Cpu, key: &Stages, ivs: &[&[u8]; LANES]) -> Self {
        let s = columns(cpu, ivs, |iv| Words::loaded(key, iv).lfsr.words());
        // The values before the first stage are shifted out, so they are arbitrary.
        let mut registers = Self {
            nfsr: Register(s),
            lfsr: Register(s),
            taps: [[s[0]; 12]; 3],
            sums: [s[0]; 3],
        };
        for (b, s) in key.words().into_iter().zip(s) {
            let taps = registers.taps();
            let twice = u32::from(b) << 16 | u32::from(b);
            registers.shift(taps, registers.sums(taps), s.splat(twice), s);
        }
        for _ in 0..WARM_UP_CLOCKS / 16 {
            registers.clock(true);
        }
        registers
    }

    #[inline(always)]
    fn xor(&mut self, rows: Rows<'_, '_, LANES, RUN>) {
        xor(self.sums[0], self, rows);
    }
}
