//! Common parts of the tests of several crates. A development dependency only.
//!
//! Without the feature `program` it has the parts for protocol tests; with it, also those that run the program.
#![forbid(unsafe_code)]

#[cfg(feature = "program")]
pub mod attack;
#[cfg(feature = "program")]
pub mod browser;
#[cfg(feature = "program")]
pub mod built;
#[cfg(feature = "program")]
pub mod capture;
#[cfg(feature = "program")]
pub mod coded;
#[cfg(feature = "program")]
pub mod counter;
pub mod ends;
#[cfg(feature = "program")]
pub mod gateways;
#[expect(
    missing_docs,
    reason = "the fields are those of the file, which vectors/README.md explains"
)]
pub mod handshake;
#[cfg(feature = "program")]
mod log;
#[cfg(feature = "program")]
pub mod media;
#[cfg(feature = "program")]
pub mod page;
#[cfg(feature = "program")]
pub mod program;
pub mod recorded;
#[cfg(feature = "program")]
pub mod relay;
#[cfg(feature = "program")]
pub mod servers;
pub mod show;
#[cfg(feature = "program")]
pub mod shown;
pub mod skips;
#[cfg(feature = "program")]
pub mod udp;
pub mod vectors;
pub mod words;
