//! Study ciphers for the sealcast laboratory: verified, portable definitions and fast kernels, without an allocator.
//!
//! They are here to be measured. Keys of 80 bits, a broken RC4 and bare XOR protect nobody, and no keystream alone
//! keeps anybody from altering a message. The live program's recommended suites come from `sealcast-proto`.
//!
//! Each cipher has a module. Its `Definition` follows the publication as literally as it can; `Words`, where that can
//! be improved upon, is equal to it and faster, and some have kernels for processors with AVX2, AVX-512, NEON or SHA
//! extensions, most of which work on many packets at once, RC4 one in assembly for x86-64. [`Cipher`] loads a key into
//! any of them that this machine can run; [`IMPLEMENTATIONS`] has all by name.
//!
//! Constant time is not claimed: RC4, HC-128 and Sosemanuk look up tables by secrets, and definitions branch on them.
//!
//! ```
//! use sealcast_cipher::{Cipher, implementations_of, trivium};
//!
//! let mut data = *b"a packet";
//! let cipher = Cipher::<trivium::Words>::new(&[7; 10])?;
//! cipher.keystream(&[1; 10])?.xor(&mut data);
//!
//! let fastest = implementations_of("trivium").last().expect("Trivium is here");
//! (fastest.load)(&[7; 10])?.keystream(&[1; 10])?.xor(&mut data);
//! assert_eq!(&data, b"a packet");
//! # Ok::<(), sealcast_cipher::Refused>(())
//! ```
#![no_std]
// Allowed again, file by file, where a processor's own instructions are called or written.
#![deny(unsafe_code)]

mod cipher;
mod cpu;
mod interleaved;
mod number;
mod published;
mod registers;
mod sizes;
mod study;
mod wipe;

pub mod grain_128a;
pub mod grain_v1;
pub mod hc_128;
pub mod mickey;
pub mod rabbit;
pub mod rc4;
pub mod salsa20;
pub mod sosemanuk;
pub mod trivium;
pub mod xor;

pub use cipher::{Block, Cipher, Kernel, Keystream, Packet};
pub use published::{PUBLISHED, Published};
pub use sizes::{Facts, Refused, Sizes};
pub use study::{IMPLEMENTATIONS, Implementation, Study, StudyKeystream, implementations_of};
