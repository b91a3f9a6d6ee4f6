//! One clock at a time, all stages of a register at once. Selections use masks, so no branch depends on the key.

use core::marker::PhantomData;

use zeroize::Zeroize;

use super::Version;
use super::bitsliced::{Bitsliced, Width};
use crate::cipher::{Kernel, Packet, xor_one_by_one};
use crate::interleaved;
use crate::sizes::Facts;

/// The registers, stage i in bit i. Bits shifted out remain above the last stage; no operation moves them down.
#[derive(Zeroize)]
pub struct Words<V: Version> {
    r: u128,
    s: u128,
    #[zeroize(skip)]
    version: PhantomData<V>,
}

impl<V: Version> Words<V> {
    /// The stages of S whose update has a product: all but the first and the last.
    const INNER: u128 = (1 << (V::STAGES - 1)) - 2;

    /// The input bit is the most significant bit of `input`.
    #[inline(always)]
    fn clock(&mut self, mixing: bool, input: u64) {
        let (r, s) = (self.r, self.s);
        let control_r = top(s, V::R_CONTROL.0) ^ top(r, V::R_CONTROL.1);
        let control_s = top(s, V::S_CONTROL.0) ^ top(r, V::S_CONTROL.1);
        let mixed_in = if mixing { top(s, V::MIXED_IN) } else { 0 };
        let feedback_r = top(r, V::STAGES - 1) ^ input ^ mixed_in;
        let feedback_s = top(s, V::STAGES - 1) ^ input;

        self.r = r << 1 ^ (V::R_TAPS & mask(feedback_r)) ^ (r & mask(control_r));
        let product = (s ^ V::COMP0) & (s >> 1 ^ V::COMP1) & Self::INNER;
        let entered = V::FB0 ^ ((V::FB0 ^ V::FB1) & mask(control_s));
        self.s = s << 1 ^ product ^ (entered & mask(feedback_s));
    }
}

/// A word with stage `i` in its most significant bit.
#[inline(always)]
fn top(register: u128, i: usize) -> u64 {
    let word = (register >> (i / 64 * 64)) as u64;
    word << (63 - i % 64)
}

/// The most significant bit, copied to all bits.
#[inline(always)]
fn mask(word: u64) -> u128 {
    let half = (word.cast_signed() >> 63).cast_unsigned();
    u128::from(half) << 64 | u128::from(half)
}

impl<V: Version> Kernel for Words<V> {
    const FACTS: &'static Facts = V::FACTS;
    const NAME: &'static str = "words";
    type Key = [u8; 10];
    type Block = [u8; 1];

    fn expand(key: &[u8]) -> Self::Key {
        key.try_into().expect("the key has the size in FACTS")
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        let mut state = Self {
            r: 0,
            s: 0,
            version: PhantomData,
        };
        for byte in iv.iter().chain(key) {
            for i in (0..8).rev() {
                state.clock(true, u64::from(*byte) << (63 - i));
            }
        }
        for _ in 0..V::STAGES {
            state.clock(true, 0);
        }
        state
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let mut byte = 0;
        for _ in 0..8 {
            byte = byte << 1 | (self.r ^ self.s) as u8 & 1;
            self.clock(false, 0);
        }
        [byte]
    }

    fn xor_batch(key: &Self::Key, packets: &mut [Packet<'_>]) {
        if packets.len() < u64::LEAST {
            xor_one_by_one::<Self>(key, packets);
        } else {
            interleaved::xor_batch::<64, 8, Bitsliced<V, u64, 1>>((), key, packets);
        }
    }
}
