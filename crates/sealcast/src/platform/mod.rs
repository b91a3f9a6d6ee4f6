//! The machine this runs on: what it is, and what of it the cryptography uses.

pub mod machine;
pub mod probe;
