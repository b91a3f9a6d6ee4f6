//! Many keystreams at once, with one packet in each bit of a register. Irregular clocking becomes masks, shifting
//! becomes reading the previous stage, and a clock takes some 260 (version 1) or 320 operations, no matter if for 512
//! packets or one.

use super::Version;
use super::clocks::Registers;
use super::unrolled::CLOCKS;
use crate::cipher::{Kernel, xor_into};
use crate::interleaved::{Rows, Streams};
use crate::number;
use crate::registers::{Bits, Lanes, Register, transpose, turn};
use crate::wipe::wipe;

/// A register type for bit slices.
pub trait Width: Bits {
    /// As [`Streams::Alone`].
    type Alone<V: Version>: Kernel<Key: AsRef<[u8]>>;

    /// As [`Streams::LEAST`]. Measured with packets of 1200 bytes on a Zen 4: the time of all lanes, compared with
    /// single packets.
    const LEAST: usize;
}

/// The registers and their output.
pub struct Bitsliced<V: Version, B: Register, const WORDS: usize> {
    registers: Registers<V, B>,
    /// Keystream on its way to the packets. Kept here, it needs wiping only once per batch. The extra register per
    /// word keeps those of a lane in different cache sets.
    keystream: [[B; 64 + 1]; WORDS],
}

impl<V: Version, B: Bits + Lanes<u64, WORDS>, const WORDS: usize> Bitsliced<V, B, WORDS> {
    /// Computes the next 64 bits of each keystream; each word stands for 64 lanes.
    #[inline(always)]
    fn make_word(&mut self, at: usize) {
        let zero = self.registers.zero();
        for first in (0..64).step_by(8) {
            // The first bit of a byte is its most significant.
            for four in [4, 0] {
                let [a, b, c, d] = self.registers.clock::<false>([zero; CLOCKS]);
                self.keystream[at][first + four..first + four + 4].copy_from_slice(&[d, c, b, a]);
            }
        }
        transpose(self.keystream[at].first_chunk_mut().expect("longer than that"));
    }
}

impl<const LANES: usize, const RUN: usize, V, B, const WORDS: usize> Streams<LANES, RUN> for Bitsliced<V, B, WORDS>
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
            registers: Registers::new(cpu, zero),
            keystream: [[zero; 64 + 1]; WORDS],
        };
        // IVs are aligned to end together; the registers of packets with shorter ones are cleared when their IV
        // begins.
        let longest = 8 * ivs.iter().map(|iv| iv.len()).max().unwrap_or(0);
        let iv_bits = [0, 64].map(|shift| columns(cpu, |lane| (number::big_endian(ivs[lane]) >> shift) as u64));
        for first in (0..longest + 8 * key.len() + V::STAGES).step_by(CLOCKS) {
            let starts = |iv: &[u8]| 8 * iv.len() + first == longest;
            if (1..=longest).contains(&first) && ivs.iter().any(|iv| starts(iv)) {
                state.registers.clear(column(cpu, |lane| u64::from(starts(ivs[lane]))));
            }
            let mut input = [zero; CLOCKS];
            for (at, input) in (first..).zip(&mut input) {
                if at < longest {
                    let bit = longest - 1 - at;
                    *input = iv_bits[bit / 64][bit % 64];
                } else if let Some(byte) = key.get((at - longest) / 8) {
                    *input = zero.splat(u64::from(byte >> (7 - at % 8) & 1).wrapping_neg());
                }
            }
            state.registers.clock::<true>(input);
        }
        state
    }

    #[inline(always)]
    fn xor(&mut self, mut rows: Rows<'_, '_, LANES, RUN>) {
        const { assert!(RUN == size_of::<B>(), "a row takes a register") };
        for at in 0..WORDS {
            self.make_word(at);
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
        let zero = self.registers.zero();
        self.registers.wipe();
        wipe(&mut self.keystream, [[zero; 64 + 1]; WORDS]);
    }
}

/// A register with one bit of each lane.
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

/// Registers with one bit of each lane, from 64 bits per lane, least significant first.
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
