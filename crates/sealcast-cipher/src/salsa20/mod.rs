//! Salsa20/20: a hash of key, nonce and block counter, in 20 rounds of additions, rotations and XOR.
//!
//! The IV is the 64-bit nonce; the 64-bit counter starts at 0. A key of 16 bytes is used twice, with constants of its
//! own.

mod definition;
mod lanes;

pub use definition::Definition;
#[cfg(target_arch = "aarch64")]
pub use lanes::Neon;
#[cfg(target_arch = "x86_64")]
pub use lanes::{Avx2, Avx512};

use crate::number;
use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "salsa20",
    key_bytes: Sizes::steps(16, 32, 16),
    iv_bytes: Sizes::exactly(8),
    source: "Bernstein, The Salsa20 family of stream ciphers, 2007, and Salsa20 specification, 2005",
};

const DOUBLE_ROUNDS: usize = 10;

/// The input of the hash; nonce (words 6 and 7) and counter (8 and 9) are zero.
fn input(key: &[u8]) -> [u32; 16] {
    let constants = if key.len() == 32 {
        b"expand 32-byte k"
    } else {
        b"expand 16-byte k"
    };
    let c = number::words::<4>(constants);
    let low = number::words::<4>(key);
    let high = number::words::<4>(&key[key.len() - 16..]);
    [
        c[0], low[0], low[1], low[2], low[3], c[1], 0, 0, 0, 0, c[2], high[0], high[1], high[2], high[3], c[3],
    ]
}

fn with_nonce(key: &[u32; 16], iv: &[u8]) -> [u32; 16] {
    let mut input = *key;
    input[6..8].copy_from_slice(&number::words::<2>(iv));
    input
}
