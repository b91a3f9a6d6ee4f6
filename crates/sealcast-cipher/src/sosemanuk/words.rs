//! Twenty clocks a step: after so many, the ten words of the register stand where they stood, and none was moved.

use zeroize::Zeroize;

use super::{FACTS, State, field, serpent};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// The state before the next twenty clocks.
#[derive(Zeroize)]
pub struct Words(State);

/// Clock `T`, modulo 10: f_t, and s_t that leaves the register.
#[inline(always)]
fn clock<const T: usize>(state: &mut State) -> (u32, u32) {
    let State { s, r1, r2 } = state;
    let leaving = s[T];
    let chosen = s[(T + 8) % 10] & (*r1 & 1).wrapping_neg();
    (*r1, *r2) = (r2.wrapping_add(s[(T + 1) % 10] ^ chosen), super::trans(*r1));
    let f = s[(T + 9) % 10].wrapping_add(*r1) ^ *r2;
    s[T] = s[(T + 9) % 10] ^ field::over_alpha(s[(T + 3) % 10]) ^ field::times_alpha(leaving);
    (f, leaving)
}

/// Four clocks and Serpent1, which is S2 alone.
#[inline(always)]
fn four<const A: usize, const B: usize, const C: usize, const D: usize>(state: &mut State, block: &mut [[u8; 4]]) {
    let (f0, s0) = clock::<A>(state);
    let (f1, s1) = clock::<B>(state);
    let (f2, s2) = clock::<C>(state);
    let (f3, s3) = clock::<D>(state);
    let mixed = serpent::s2([f0, f1, f2, f3]);
    block[0] = (mixed[0] ^ s0).to_le_bytes();
    block[1] = (mixed[1] ^ s1).to_le_bytes();
    block[2] = (mixed[2] ^ s2).to_le_bytes();
    block[3] = (mixed[3] ^ s3).to_le_bytes();
}

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    type Key = serpent::Keys;
    type Block = [u8; 80];

    fn expand(key: &[u8]) -> Self::Key {
        serpent::schedule(key)
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self(super::inject(key, iv))
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let mut block = [0; 80];
        let words = block.as_chunks_mut::<4>().0;
        let state = &mut self.0;
        four::<0, 1, 2, 3>(state, &mut words[..4]);
        four::<4, 5, 6, 7>(state, &mut words[4..8]);
        four::<8, 9, 0, 1>(state, &mut words[8..12]);
        four::<2, 3, 4, 5>(state, &mut words[12..16]);
        four::<6, 7, 8, 9>(state, &mut words[16..]);
        block
    }
}
