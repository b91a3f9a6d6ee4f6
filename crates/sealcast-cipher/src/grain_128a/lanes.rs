//! Thirty-two clocks per step, in lanes of 32 bits.

use super::words::Register as Stages;
use super::{WARM_UP_CLOCKS, Words};
use crate::interleaved::{Batched, Rows, Streams};
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
use crate::registers::{self, Lanes, Shifts, Steps, columns, xor};
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};

/// Shift distances for [`Vectors::sums`].
const MOVES: [u32; 7] = [18, 25, 31, 6, 3, 29, 30];

/// Eight packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Batched<8, 32, Vectors<Ymm>>;
/// Sixteen packets in parallel.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Batched<16, 64, Vectors<Zmm>>;
/// Four packets in parallel.
#[cfg(target_arch = "aarch64")]
pub type Neon = Batched<4, 16, Vectors<Quad>>;

/// A register in four words. The first stage is the most significant bit of the first word.
#[derive(Clone, Copy)]
struct Register<V>([V; 4]);

/// The registers, and shifted words kept from earlier steps.
pub struct Vectors<V> {
    nfsr: Register<V>,
    lfsr: Register<V>,
    /// Results of [`Vectors::taps`] one and two steps ago.
    taps: [[V; 13]; 2],
    /// Result of [`Vectors::sums`] one step ago.
    sums: [V; 7],
}

impl<V: Shifts<u32>> Register<V> {
    /// Stages `first` to `first + 31`, not aligned to a word.
    #[inline(always)]
    fn at(self, first: u32) -> V {
        let (word, bits) = ((first / 32) as usize, first % 32);
        moved(bits, self.0[word], self.0[word + 1])
    }

    /// The register 32 clocks later; `entering` are its last stages.
    #[inline(always)]
    fn shifted(self, entering: V) -> Self {
        let Self([_, second, third, last]) = self;
        Self([second, third, last, entering])
    }
}

/// The word that begins at bit `bits` of a word, counted from the most significant, and extends into the following
/// one.
#[inline(always)]
fn moved<V: Shifts<u32>>(bits: u32, word: V, following: V) -> V {
    following.funnel(word, 32 - bits)
}

/// Shifts dominate the running time, so there are few of them. A tap is shifted when its stages come within reach;
/// one or two steps later, the same word is the tap 32 or 64 stages before. Where possible, sums of taps are shifted
/// instead of the taps: b_17 b_18 is b_31 b_32 of one step ago, shifted by 18. That leaves 21 shifts of 35. A search
/// over sets of taps and shifts found no solution with fewer.
impl<V: Shifts<u32>> Vectors<V> {
    /// The taps that come within reach in this step.
    #[inline(always)]
    fn taps(&self) -> [V; 13] {
        let (b, s) = (self.nfsr, self.lfsr);
        [
            b.at(68),
            b.at(72),
            b.at(76),
            b.at(88),
            b.at(92),
            b.at(93),
            b.at(95),
            s.at(42),
            s.at(81),
            s.at(94),
            b.at(14),
            b.at(48),
            b.at(84),
        ]
    }

    /// Sums that are shifted by [`MOVES`] and then become part of the feedback or of the pre-output.
    #[inline(always)]
    fn sums(&self, taps: [V; 13]) -> [V; 7] {
        let (Register([_, b32, _, b96]), Register([_, _, s64, s96])) = (self.nfsr, self.lfsr);
        let [b68, b72, b76, _, b92, _, _, s42, s81, _, b14, b48, b84] = taps;
        let [_, b40, b44, _, b60, _, _, s10, s49, s62, ..] = self.taps[0];
        let [b4, _, b12, _, b28, b29, b31, ..] = self.taps[1];
        let b31_32 = b31 & b32;
        [
            b40 ^ b31_32 ^ (b84 & b92 & b96),
            (b68 & b72) ^ (b29 & b31_32),
            b92 ^ (b4 & b68) ^ (b12 & b14) ^ (b28 & b60),
            s64 ^ s96,
            b44 ^ (s42 & s49),
            s96 ^ b48 ^ b76 ^ b92,
            b4 ^ (b14 & s10) ^ (s62 & s81),
        ]
    }

    /// Advances by 32 clocks; `into_b` and `into_s` are the new last stages.
    #[inline(always)]
    fn shift(&mut self, taps: [V; 13], sums: [V; 7], into_b: V, into_s: V) {
        *self = Self {
            nfsr: self.nfsr.shifted(into_b),
            lfsr: self.lfsr.shifted(into_s),
            taps: [taps, self.taps[0]],
            sums,
        };
    }

    /// 32 bits of pre-output of each packet, the first in the most significant bit; during warm-up it is fed back.
    #[inline(always)]
    fn clock(&mut self, warming_up: bool) -> V {
        let taps = self.taps();
        let sums = self.sums(taps);
        let [b26_17_70, b61_22, b91_3_11_27, s38_70, b15_s13, b45_73_89_s93, b2_s8_60] =
            core::array::from_fn(|i| moved(MOVES[i], self.sums[i], sums[i]));
        let (Register([b0, _, b64, b96]), Register([s0, _, _, s96])) = (self.nfsr, self.lfsr);
        let [b68, _, _, b88, b92, b93, b95, s42, s81, s94, _, b48, b84] = taps;
        let [b36, b40, _, b56, ..] = self.taps[0];
        let [_, _, b12, ..] = self.taps[1];

        let y = (b12 & b95 & s94) ^ (b95 & s42) ^ b36 ^ b64 ^ b2_s8_60 ^ b15_s13 ^ b45_73_89_s93;
        let f = s0 ^ self.lfsr.at(7) ^ s38_70 ^ s81 ^ s96;
        let products = (b40 & b48) ^ (b68 & b84) ^ (b88 & b92 & b93 & b95);
        let g = s0 ^ b0 ^ b56 ^ b96 ^ products ^ b26_17_70 ^ b61_22 ^ b91_3_11_27;
        let (into_b, into_s) = if warming_up { (g ^ y, f ^ y) } else { (g, f) };
        self.shift(taps, sums, into_b, into_s);
        y
    }
}

impl<V: Shifts<u32>> Steps<V> for Vectors<V> {
    #[inline(always)]
    fn step(&mut self) -> V {
        self.clock(false).swap_bytes()
    }
}

impl<const LANES: usize, const RUN: usize, V> Streams<LANES, RUN> for Vectors<V>
where
    V: Shifts<u32> + Lanes<u32, LANES> + registers::Words,
{
    type Alone = Words;
    type Cpu = V::Cpu;

    #[inline(always)]
    fn start(cpu: V::Cpu, key: &Stages, ivs: &[&[u8]; LANES]) -> Self {
        let [s0, s1, s2, s3] = columns(cpu, ivs, |iv| Words::loaded(key, iv).lfsr.words());
        let [b0, b1, b2, b3] = key.words();
        // The values before the first stage are shifted out, so they are arbitrary.
        let mut registers = Self {
            nfsr: Register([s0; 4]),
            lfsr: Register([s0; 4]),
            taps: [[s0; 13]; 2],
            sums: [s0; 7],
        };
        for (b, s) in [(b0, s0), (b1, s1), (b2, s2), (b3, s3)] {
            let taps = registers.taps();
            registers.shift(taps, registers.sums(taps), s.splat(b), s);
        }
        for _ in 0..WARM_UP_CLOCKS / 32 {
            registers.clock(true);
        }
        registers
    }

    #[inline(always)]
    fn xor(&mut self, rows: Rows<'_, '_, LANES, RUN>) {
        xor(self.sums[0], self, rows);
    }
}
