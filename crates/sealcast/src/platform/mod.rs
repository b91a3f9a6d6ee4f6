//! The machine this runs on: what it is, and what of it the cryptography uses.

pub mod compare;
pub mod machine;
pub mod print_config;
pub mod probe;
pub mod versions;
