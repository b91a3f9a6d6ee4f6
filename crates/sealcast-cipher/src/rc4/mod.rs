//! RC4: a permutation of 256 bytes that changes while it is read.
//!
//! The keystream is used from its first byte on, without dropping any, as in the papers that the laboratory
//! reproduces. RC4 has no IV, and none is mixed into the key here: two packets under one key have the same keystream.
//! Its first bytes are biased, and the cipher is broken.

mod definition;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use definition::Definition;
pub use words::Words;
#[cfg(target_arch = "x86_64")]
pub use x86_64::X86_64;

use crate::sizes::{Facts, Sizes};

const FACTS: Facts = Facts {
    name: "rc4",
    key_bytes: Sizes::steps(1, 256, 1),
    iv_bytes: Sizes::exactly(0),
    source: "RFC 6229, Test vectors for the stream cipher RC4, 2011; Kaukonen and Thayer, A stream cipher encryption \
             algorithm \"Arcfour\", 1999",
};
