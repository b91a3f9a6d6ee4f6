//! Eight blocks at once.
#![allow(unsafe_code)]

use zeroize::Zeroize;

use super::blocks::{self, Places};
use super::{FACTS, input};
use crate::cipher::{Kernel, Packet};
use crate::cpu;
use crate::number;
use crate::registers::Ymm;
use crate::sizes::Facts;

const LANES: usize = 8;

/// The input with nonce and counter zero, and the proof that there are registers to hash it in.
#[derive(Clone, Zeroize)]
pub struct Key {
    input: [u32; 16],
    cpu: cpu::Avx2,
}

impl Key {
    #[inline(always)]
    fn hash(&self, places: &Places<LANES>, keystream: &mut [[u8; 64]; LANES]) {
        // SAFETY: `cpu` proves that the processor has these instructions.
        unsafe { hash(self, places, keystream) }
    }
}

#[target_feature(enable = "avx2")]
fn hash(key: &Key, places: &Places<LANES>, keystream: &mut [[u8; 64]; LANES]) {
    blocks::hash::<LANES, Ymm>(key.cpu, &key.input, places, keystream);
}

/// Salsa20/20 for processors with AVX2.
#[derive(Zeroize)]
pub struct Avx2 {
    key: Key,
    nonce: [u32; 2],
    counter: u64,
}

impl Kernel for Avx2 {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "avx2";
    type Key = Key;
    type Block = [u8; 64 * LANES];

    fn available() -> bool {
        cpu::Avx2::detect().is_some()
    }

    fn expand(key: &[u8]) -> Self::Key {
        Key {
            input: input(key),
            cpu: cpu::Avx2::detect().expect("the kernel is available"),
        }
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self {
            key: key.clone(),
            nonce: number::words::<2>(iv),
            counter: 0,
        }
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let mut block = [0; 64 * LANES];
        let keystream = block.as_chunks_mut::<64>().0.try_into().expect("it has as many blocks");
        self.key.hash(&Places::of_stream(self.nonce, self.counter), keystream);
        self.counter = self.counter.wrapping_add(LANES as u64);
        block
    }

    fn xor_batch(key: &Self::Key, packets: &mut [Packet<'_>]) {
        blocks::xor_batch(packets, |places, keystream| key.hash(places, keystream));
    }
}
