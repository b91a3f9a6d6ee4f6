//! Sosemanuk: a linear register over GF(2^32) and a small finite state machine, based on SNOW, with parts of Serpent.
//!
//! All numbers are little-endian. A key shorter than 32 bytes is padded as in Serpent, an IV shorter than 16 with
//! zeros.

mod clocks;
mod definition;
mod field;
mod lanes;
mod sbox;
mod serpent;
mod words;

pub use definition::Definition;
#[cfg(target_arch = "aarch64")]
pub use lanes::Neon;
#[cfg(target_arch = "x86_64")]
pub use lanes::{Avx2, Avx512};
pub use words::Words;

use zeroize::Zeroize;

use crate::number;
use crate::registers;
use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "sosemanuk",
    key_bytes: Sizes::steps(1, 32, 1),
    iv_bytes: Sizes::steps(0, 16, 1),
    source: "Berbain et al., Sosemanuk, a fast software-oriented stream cipher, eSTREAM 2008",
};

/// The linear register s_{t+1} to s_{t+10} and the machine's two registers.
#[derive(Clone, Copy, Zeroize)]
pub struct State<W: registers::Words> {
    s: [W; 10],
    r1: W,
    r2: W,
}

/// The machine's nonlinear function.
#[inline(always)]
fn trans<W: registers::Words>(z: W) -> W {
    z.times(z.splat(0x5465_5307)).rotate_left(7)
}

/// An IV as an input block of Serpent.
fn padded(iv: &[u8]) -> [u32; 4] {
    let mut block = [0; 16];
    block[..iv.len()].copy_from_slice(iv);
    number::words(&block)
}

/// The initial state from rounds 12, 18 and 24 of Serpent24.
#[inline(always)]
fn inject<W: registers::Words>(keys: &serpent::Keys, block: [W; 4]) -> State<W> {
    let [y12, y18, y24] = serpent::serpent_24(keys, block);
    State {
        s: [
            y24[3], y24[2], y24[1], y24[0], y18[1], y18[3], y12[3], y12[2], y12[1], y12[0],
        ],
        r1: y18[0],
        r2: y18[2],
    }
}
