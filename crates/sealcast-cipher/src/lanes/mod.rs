//! Several packets side by side: each lane of a vector carries a word of another packet's registers.
//!
//! A cipher writes its clocks once, over [`Lanes`]; each instruction set brings its vectors. The keystream comes out
//! across the packets, a word of each at a time, and is turned once there are as many words as lanes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod batch;

use core::marker::PhantomData;
use core::ops::{BitAnd, BitOr, BitXor};

use zeroize::Zeroize;

use crate::cipher::{Block, Kernel, Packet};
use crate::sizes::Facts;

pub(crate) use batch::{Registers, SideBySide};

/// A vector of words. One that exists proves that its instructions do: [`load`](Self::load) asks for the proof.
pub trait Lanes: Copy + BitXor<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> {
    /// The instruction set.
    type Set: Copy;
    /// What a lane holds.
    type Word: Copy;
    /// An array with a word for each lane.
    type Words: AsRef<[Self::Word]> + AsMut<[Self::Word]> + Copy;
    /// An array with as many vectors as a vector has lanes.
    type Square: AsMut<[Self]>;
    /// All bytes of a vector.
    type Bytes: Block;
    /// Zero in every lane.
    const ZERO: Self::Words;

    /// A vector of these words.
    fn load(set: Self::Set, words: Self::Words) -> Self;

    /// The words, little-endian, one after another.
    fn to_bytes(self) -> Self::Bytes;

    /// An array of copies.
    fn square(self) -> Self::Square;

    /// In each lane the words as one number, of which `self` is the lower half, moved down by `bits`: its lower half.
    /// Less than a word and at least one bit.
    fn funnel(self, upper: Self, bits: u32) -> Self;

    /// The bytes of each word the other way round.
    fn swap_bytes(self) -> Self;

    /// Lanes of both by turns: what the lower halves give, and the upper ones.
    fn zip(self, other: Self) -> (Self, Self);
}

/// Instructions for vectors, as a proof that this machine has them.
pub trait InstructionSet: Copy + Zeroize {
    /// As it is called in names of kernels.
    const NAME: &'static str;
    /// Vectors of 16-bit words.
    type U16: Lanes<Set = Self, Word = u16>;
    /// Vectors of 32-bit words.
    type U32: Lanes<Set = Self, Word = u32>;
    /// Vectors of 64-bit words.
    type U64: Lanes<Set = Self, Word = u64>;

    /// The proof, if it is true.
    fn detect() -> Option<Self>;

    /// [`batch::xor`], compiled for these instructions.
    fn xor_batch<C: SideBySide>(self, key: &C::Key, packets: &mut [Packet<'_>]);
}

/// A cipher's kernel with lanes: batches go to an instruction set's vectors, single packets to `C`.
#[derive(Zeroize)]
pub struct Batched<C: SideBySide, S: InstructionSet> {
    alone: C,
    set: PhantomData<S>,
}

/// A key and the proof that the instructions are there.
#[derive(Zeroize)]
pub struct Key<K: Zeroize, S: InstructionSet> {
    key: K,
    set: S,
}

impl<C: SideBySide, S: InstructionSet> Kernel for Batched<C, S> {
    const FACTS: &'static Facts = C::FACTS;
    const NAME: &'static str = S::NAME;
    type Key = Key<C::Key, S>;
    type Block = C::Block;

    fn available() -> bool {
        S::detect().is_some()
    }

    fn expand(key: &[u8]) -> Self::Key {
        Key {
            key: C::expand(key),
            set: S::detect().expect("Cipher::new asked whether the kernel is available"),
        }
    }

    #[inline(always)]
    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self {
            alone: C::start(&key.key, iv),
            set: PhantomData,
        }
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        self.alone.step()
    }

    fn xor_batch(key: &Self::Key, packets: &mut [Packet<'_>]) {
        key.set.xor_batch::<C>(&key.key, packets);
    }
}
