//! From a batch of packets to lanes and back, whatever the cipher and the vectors.

use zeroize::optimization_barrier;

use super::{InstructionSet, Lanes};
use crate::cipher::{Block, Kernel, Keystream, Packet, xor_into};

/// The most words that the registers of a cipher fill: Grain-v1's, twice 80 bits in words of 16.
const MOST_WORDS: usize = 10;

/// Rows that are transposed without leaving the vector registers.
const AT_ONCE: usize = 8;

/// A cipher whose registers can run in lanes.
pub trait SideBySide: Kernel {
    /// A lane's word: as many bits as clocks can be made at once.
    type Word: Copy;
    /// The registers before the first clock, as words: at most `MOST_WORDS`.
    type Loaded: AsRef<[Self::Word]>;
    /// The vectors that an instruction set has for such words.
    type Lanes<S: InstructionSet>: Lanes<Set = S, Word = Self::Word>;
    /// The registers of several packets.
    type Registers<S: InstructionSet>: Registers<Self::Lanes<S>>;

    /// Loads key and IV.
    fn load(key: &Self::Key, iv: &[u8]) -> Self::Loaded;
}

/// The registers of several packets, one in each lane.
pub trait Registers<V> {
    /// From the words of [`SideBySide::load`], clocked until the first keystream is due.
    fn start(words: &[V]) -> Self;

    /// The next word of keystream of each packet, in the order in which its bytes lie in memory.
    fn step(&mut self) -> V;
}

/// As [`Kernel::xor_batch`]. Always part of its caller, which is compiled for the vectors' instructions.
#[inline(always)]
pub(super) fn xor<C: SideBySide, S: InstructionSet>(set: S, key: &C::Key, packets: &mut [Packet<'_>]) {
    let lanes = C::Lanes::<S>::ZERO.as_ref().len();
    for group in packets.chunks_mut(lanes) {
        // Lanes that idle cost nothing: from two packets on, all lanes together are faster than one after another.
        if let [alone] = group {
            Keystream::<C>::start(key, alone.iv).xor(alone.data);
        } else {
            xor_group::<C, S>(set, key, group);
        }
    }
}

/// At most as many packets as there are lanes.
#[inline(always)]
fn xor_group<C: SideBySide, S: InstructionSet>(set: S, key: &C::Key, group: &mut [Packet<'_>]) {
    let mut registers = start::<C, S>(set, key, group);
    let block_bytes = <<C::Lanes<S> as Lanes>::Bytes as Block>::BYTES;
    let mut square = C::Lanes::<S>::load(set, C::Lanes::<S>::ZERO).square();
    let longest = group.iter().map(|packet| packet.data.len()).max().unwrap_or(0);
    for at in (0..longest).step_by(block_bytes) {
        let rows = square.as_mut();
        for four in rows.as_chunks_mut().0 {
            // Written out: after four steps each vector is back in the register where it was, and nothing has to move.
            *four = [registers.step(), registers.step(), registers.step(), registers.step()];
        }
        transpose(rows);
        for (packet, row) in group.iter_mut().zip(rows) {
            if let Some(block) = packet.data.get_mut(at..at + block_bytes) {
                xor_into(block, row.to_bytes().as_ref());
            } else if let Some(tail) = packet.data.get_mut(at..) {
                xor_into(tail, row.to_bytes().as_ref());
            }
        }
    }
}

#[inline(always)]
fn start<C: SideBySide, S: InstructionSet>(set: S, key: &C::Key, group: &[Packet<'_>]) -> C::Registers<S> {
    let mut words = [C::Lanes::<S>::ZERO; MOST_WORDS];
    for (lane, packet) in group.iter().enumerate() {
        let loaded = C::load(key, packet.iv);
        for (words, word) in words.iter_mut().zip(loaded.as_ref()) {
            words.as_mut()[lane] = *word;
        }
    }
    let registers = C::Registers::<S>::start(&words.map(|words| C::Lanes::<S>::load(set, words)));
    words = [C::Lanes::<S>::ZERO; MOST_WORDS];
    optimization_barrier(&words);
    registers
}

/// Rows become columns: the first half of the rows is zipped with the second one, then so are the halves of the halves.
#[inline(always)]
fn transpose<V: Lanes>(rows: &mut [V]) {
    let stride = rows.len() / AT_ONCE;
    if stride == 0 {
        return zip_halves(rows);
    }
    for first in 0..stride {
        let mut block: [V; AT_ONCE] = core::array::from_fn(|i| rows[first + i * stride]);
        zip_halves(&mut block);
        for (i, row) in block.into_iter().enumerate() {
            rows[first + i * stride] = row;
        }
    }
    for part in rows.chunks_exact_mut(stride) {
        zip_halves(part);
    }
}

#[inline(always)]
fn zip_halves<V: Lanes>(rows: &mut [V]) {
    let mut half = rows.len() / 2;
    while half > 0 {
        for part in rows.chunks_exact_mut(2 * half) {
            let (first, second) = part.split_at_mut(half);
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = a.zip(*b);
            }
        }
        half /= 2;
    }
}
