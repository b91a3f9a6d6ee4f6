//! The learned attacker: a small network makes a damaged picture more like the scene that it shows.
//!
//! `restorer/README.md` says how it was trained and what it is worth. Training is in Python; this is the network's
//! forward pass, checked against another implementation of it (onnxruntime).

mod layer;
mod network;
#[cfg(test)]
mod tests;

pub use network::Restorer;
