//! Study ciphers for the sealcast laboratory: verified, portable definitions and fast kernels. None is here yet.
//!
//! The live program never depends on this crate; its recommended suites come from `sealcast-proto`.
#![no_std]
#![forbid(unsafe_code)]
