//! Several blocks in parallel: of one stream, or of as many packets as fill the registers.

use zeroize::Zeroize;

use super::{DOUBLE_ROUNDS, FACTS, input};
use crate::cipher::{Block, Kernel, Packet, xor_into};
use crate::cpu::{Cpu, Task};
use crate::number;
#[cfg(target_arch = "aarch64")]
use crate::registers::Quad;
use crate::registers::{Lanes, Words};
#[cfg(target_arch = "x86_64")]
use crate::registers::{Ymm, Zmm};
use crate::sizes::Facts;
use crate::wipe::wipe;

/// Eight blocks at once, for processors with AVX2.
#[cfg(target_arch = "x86_64")]
pub type Avx2 = Blocks<8, Ymm>;

/// Sixteen blocks at once, for processors with AVX-512.
#[cfg(target_arch = "x86_64")]
pub type Avx512 = Blocks<16, Zmm>;

/// Four blocks at once, for processors with NEON.
#[cfg(target_arch = "aarch64")]
pub type Neon = Blocks<4, Quad>;

/// The input of the hash, with nonce and counter of each lane.
type Matrix<W> = [W; 16];

#[inline(always)]
fn quarter_round<W: Words>(x: &mut Matrix<W>, [a, b, c, d]: [usize; 4]) {
    x[b] = x[b] ^ x[a].plus(x[d]).rotate_left(7);
    x[c] = x[c] ^ x[b].plus(x[a]).rotate_left(9);
    x[d] = x[d] ^ x[c].plus(x[b]).rotate_left(13);
    x[a] = x[a] ^ x[d].plus(x[c]).rotate_left(18);
}

/// The positions of blocks in keystreams: nonce and counter of each lane.
#[derive(Zeroize)]
pub(super) struct Places<const LANES: usize> {
    /// Words 6 to 9 of the matrix.
    words: [[u32; LANES]; 4],
}

impl<const LANES: usize> Places<LANES> {
    const NOWHERE: Self = Self { words: [[0; LANES]; 4] };

    /// Consecutive blocks of one stream, starting at `counter`.
    pub(super) fn of_stream(nonce: [u32; 2], counter: u64) -> Self {
        let mut places = Self::NOWHERE;
        for lane in 0..LANES {
            places.set(lane, nonce, counter.wrapping_add(lane as u64));
        }
        places
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, nonce: [u32; 2], counter: u64) {
        let [words6, words7, words8, words9] = &mut self.words;
        words6[lane] = nonce[0];
        words7[lane] = nonce[1];
        words8[lane] = counter as u32;
        words9[lane] = (counter >> 32) as u32;
    }
}

/// The input with nonce and counter zero, and the proof that this processor has the registers.
#[derive(Clone, Zeroize)]
pub struct Key<C: Cpu> {
    input: [u32; 16],
    cpu: C,
}

/// XORs the keystream blocks at these positions into others.
#[inline(always)]
fn xor<const LANES: usize, W: Words + Lanes<u32, LANES>>(
    key: &Key<W::Cpu>,
    places: &Places<LANES>,
    blocks: &mut [&mut [u8; 64]; LANES],
) {
    let mut input = [W::load(key.cpu, places.words[0]); 16];
    macro_rules! each {
        ($($i:literal)*) => { $(input[$i] = input[6].splat(key.input[$i]);)* };
    }
    each!(0 1 2 3 4 5 10 11 12 13 14 15);
    input[7] = W::load(key.cpu, places.words[1]);
    input[8] = W::load(key.cpu, places.words[2]);
    input[9] = W::load(key.cpu, places.words[3]);

    let mut x = input;
    for _ in 0..DOUBLE_ROUNDS {
        quarter_round(&mut x, [0, 4, 8, 12]);
        quarter_round(&mut x, [5, 9, 13, 1]);
        quarter_round(&mut x, [10, 14, 2, 6]);
        quarter_round(&mut x, [15, 3, 7, 11]);
        quarter_round(&mut x, [0, 1, 2, 3]);
        quarter_round(&mut x, [5, 6, 7, 4]);
        quarter_round(&mut x, [10, 11, 8, 9]);
        quarter_round(&mut x, [15, 12, 13, 14]);
    }
    macro_rules! xor {
        ($($i:literal)*) => { $(W::xor(
            [
                x[$i].plus(input[$i]),
                x[$i + 1].plus(input[$i + 1]),
                x[$i + 2].plus(input[$i + 2]),
                x[$i + 3].plus(input[$i + 3]),
            ],
            blocks,
            4 * $i,
        );)* };
    }
    xor!(0 4 8 12);
}

/// Blocks of one stream or of many packets.
#[derive(Zeroize)]
pub struct Blocks<const LANES: usize, W: Words> {
    key: Key<W::Cpu>,
    nonce: [u32; 2],
    counter: u64,
}

/// The output of one step.
#[derive(Zeroize)]
pub struct Row<const LANES: usize>([[u8; 64]; LANES]);

impl<const LANES: usize> AsRef<[u8]> for Row<LANES> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_flattened()
    }
}

impl<const LANES: usize> Block for Row<LANES> {
    const BYTES: usize = 64 * LANES;
    const ZERO: Self = Self([[0; 64]; LANES]);
}

/// The next blocks of a stream.
struct Step<'a, const LANES: usize, W: Words>(&'a mut Blocks<LANES, W>);

impl<const LANES: usize, W: Words + Lanes<u32, LANES>> Task for Step<'_, LANES, W> {
    type Output = Row<LANES>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Blocks { key, nonce, counter } = self.0;
        let mut row = Row::ZERO;
        xor::<LANES, W>(key, &Places::of_stream(*nonce, *counter), &mut row.0.each_mut());
        *counter = counter.wrapping_add(LANES as u64);
        row
    }
}

impl<const LANES: usize, W: Words + Lanes<u32, LANES>> Kernel for Blocks<LANES, W> {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = W::Cpu::NAME;
    type Key = Key<W::Cpu>;
    type Block = Row<LANES>;

    fn available() -> bool {
        W::Cpu::detect().is_some()
    }

    fn expand(key: &[u8]) -> Self::Key {
        Key {
            input: input(key),
            cpu: W::Cpu::detect().expect("the kernel is available"),
        }
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self {
            key: key.clone(),
            nonce: number::words(iv),
            counter: 0,
        }
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        self.key.cpu.run(Step(self))
    }

    fn xor_batch(key: &Self::Key, packets: &mut [Packet<'_>]) {
        key.cpu.run(Batch::<LANES, W> { key, packets });
    }
}

/// In other ciphers each step depends on the previous one. This one fills the lanes with blocks of all packets,
/// packet after packet, so that no lane idles beside a longer packet.
struct Batch<'a, 'b, const LANES: usize, W: Words> {
    key: &'a Key<W::Cpu>,
    packets: &'a mut [Packet<'b>],
}

impl<const LANES: usize, W: Words + Lanes<u32, LANES>> Task for Batch<'_, '_, LANES, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut blocks = self.packets.iter_mut().flat_map(|packet| {
            let nonce = number::words::<2>(packet.iv);
            packet
                .data
                .chunks_mut(64)
                .zip(0..)
                .map(move |(data, counter)| (nonce, counter, data))
        });
        let mut places = Places::NOWHERE;
        // For partial blocks, zeroed again for the next one, and for lanes without a block, which come last.
        let mut spare = [[0; 64]; LANES];
        loop {
            let mut rows = spare.each_mut();
            let mut ends: [&mut [u8]; LANES] = core::array::from_fn(|_| Default::default());
            let mut filled = 0;
            for (lane, (nonce, counter, block)) in blocks.by_ref().take(LANES).enumerate() {
                places.set(lane, nonce, counter);
                if block.len() == 64 {
                    rows[lane] = block.first_chunk_mut().expect("it is whole");
                } else {
                    ends[lane] = block;
                }
                filled += 1;
            }
            if filled == 0 {
                break;
            }
            xor::<LANES, W>(self.key, &places, &mut rows);
            for (end, spare) in ends.iter_mut().zip(&mut spare).filter(|(end, _)| !end.is_empty()) {
                xor_into(end, spare);
                *spare = [0; 64];
            }
        }
        wipe(&mut spare, [[0; 64]; LANES]);
    }
}
