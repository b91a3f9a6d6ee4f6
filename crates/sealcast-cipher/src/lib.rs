//! Study ciphers for the sealcast laboratory: verified, portable definitions and fast kernels, without an allocator.
//!
//! They exist for measurements. Keys of 80 bits, a broken RC4 and bare XOR provide no security, and a keystream alone
//! does not protect a message from being altered. The live program's recommended suites come from `sealcast-proto`.
//!
//! Each cipher has a module. Its `Definition` follows the publication as literally as possible. `Words`, if an
//! improvement is possible, gives the same result faster. Some ciphers have kernels for processors with AVX2,
//! AVX-512, NEON or SHA extensions, most of which handle many packets at once; RC4 has one in x86-64 assembly.
//! [`Cipher`] loads a key into any of them that this machine supports; [`IMPLEMENTATIONS`] lists all by name.
//!
//! The ciphers do not run in constant time: RC4, HC-128 and Sosemanuk use secrets as table indices, and definitions
//! branch on secrets.
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
// Allowed again in the files that use a processor's special instructions or assembly.
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
