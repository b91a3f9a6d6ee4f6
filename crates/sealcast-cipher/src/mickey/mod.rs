//! MICKEY v1 and MICKEY 2.0: two shift registers that clock each other irregularly.
//!
//! The versions differ in length and constants alone, so they share their code. Byte order is that of the authors:
//! everywhere, the first bit is the highest one of the first byte. The length of the IV counts: none is not the same as
//! zeros.

mod definition;
mod versions;
mod words;

pub use definition::Definition;
pub use versions::{V1, V2, Version};
pub use words::Words;
