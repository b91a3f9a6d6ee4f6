//! One stream, in ordinary registers of the processor.

use zeroize::Zeroize;

use super::clocks::{RUN, xor};
use super::{FACTS, State, serpent};
use crate::cipher::Kernel;
use crate::sizes::Facts;

/// The state before the next twenty clocks.
#[derive(Zeroize)]
pub struct Words(State<u32>);

impl Kernel for Words {
    const FACTS: &'static Facts = &FACTS;
    const NAME: &'static str = "words";
    type Key = serpent::Keys;
    type Block = [u8; RUN];

    fn expand(key: &[u8]) -> Self::Key {
        serpent::schedule(key)
    }

    fn start(key: &Self::Key, iv: &[u8]) -> Self {
        Self(super::inject(key, super::padded(iv)))
    }

    #[inline(always)]
    fn step(&mut self) -> Self::Block {
        let mut block = [0; RUN];
        xor(&mut self.0, &mut [&mut block]);
        block
    }
}
