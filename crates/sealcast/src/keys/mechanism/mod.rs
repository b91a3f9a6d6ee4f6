//! The key mechanisms of protocol.md §3: from `aws-lc-rs`, and from `sntrup` for the one that it lacks.

mod ecdh;
mod hybrid;
mod mlkem;
mod rsa;
mod sntrup;
#[cfg(test)]
mod vector_tests;

use std::sync::Arc;

use sealcast_proto::keys::Mechanism;

pub use ecdh::Ecdh;
pub use hybrid::Hybrid;
pub use mlkem::MlKem768;
pub use rsa::Rsa2048;
pub use sntrup::Sntrup761;

/// A mechanism's name and constructor.
type Entry = (&'static str, fn() -> Arc<dyn Mechanism>);

/// All mechanisms in order of preference.
const ALL: [Entry; 6] = [
    ("x25519-mlkem768", || Arc::new(Hybrid::x25519_mlkem768())),
    ("sntrup761-x25519", || Arc::new(Hybrid::sntrup761_x25519())),
    ("x25519", || Arc::new(Ecdh::x25519())),
    ("p256", || Arc::new(Ecdh::p256())),
    ("mlkem768", || Arc::new(MlKem768)),
    ("rsa2048", || Arc::new(Rsa2048)),
];

/// Mechanisms offered and accepted by default: both hybrids, none that a quantum computer could break.
pub const DEFAULT: [&str; 1] = ["x25519-mlkem768"];

/// Returns the mechanism of that name.
pub fn by_name(name: &str) -> Option<Arc<dyn Mechanism>> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, make)| make())
}

/// The names of all mechanisms, in order of preference.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}
