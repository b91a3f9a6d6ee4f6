//! Sosemanuk: a linear register over GF(2^32) and a small finite state machine, after SNOW, with parts of Serpent.
//!
//! All numbers are little-endian. A key shorter than 32 bytes is padded as Serpent pads it, an IV shorter than 16 with
//! zeros.

mod definition;
mod field;
mod serpent;
mod words;

pub use definition::Definition;
pub use words::Words;

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "sosemanuk",
    key_bytes: Sizes::steps(1, 32, 1),
    iv_bytes: Sizes::steps(0, 16, 1),
    source: "Berbain et al., Sosemanuk, a fast software-oriented stream cipher, eSTREAM 2008",
};

/// The linear register s_{t+1} to s_{t+10} and the machine's two registers.
#[derive(zeroize::Zeroize)]
struct State {
    s: [u32; 10],
    r1: u32,
    r2: u32,
}

/// The machine's nonlinear function.
#[inline(always)]
fn trans(z: u32) -> u32 {
    z.wrapping_mul(0x5465_5307).rotate_left(7)
}

/// Takes the state from Serpent24's rounds 12, 18 and 24.
fn inject(keys: &serpent::Keys, iv: &[u8]) -> State {
    let mut block = [0; 16];
    block[..iv.len()].copy_from_slice(iv);
    let [y12, y18, y24] = serpent::serpent_24(keys, crate::number::words::<4>(&block));
    State {
        s: [
            y24[3], y24[2], y24[1], y24[0], y18[1], y18[3], y12[3], y12[2], y12[1], y12[0],
        ],
        r1: y18[0],
        r2: y18[2],
    }
}
