//! Ciphers in all their implementations, as experiments measure them: our own, those of libraries, and foreign ciphers,
//! which run in a process of their own. Each is checked before it is timed, against published values if there are any.

pub(crate) mod capabilities;
pub(crate) mod catalogue;
pub(crate) mod choice;
pub(crate) mod code;
pub(crate) mod cycles;
pub(crate) mod external;
pub(crate) mod implementation;
pub(crate) mod keyed;
pub(crate) mod library;
pub(crate) mod nature;
pub(crate) mod worker;

pub use external::External;
