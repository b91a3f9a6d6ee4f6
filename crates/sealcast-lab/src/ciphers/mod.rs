//! Ciphers in all their implementations, as experiments measure them: ours, those of libraries, and foreign ones that
//! run in a process of their own. Each is held to published values before it is timed.

pub(crate) mod choice;
pub(crate) mod cycles;
pub(crate) mod external;
pub(crate) mod implementation;
pub(crate) mod library;
pub(crate) mod nature;
pub(crate) mod worker;

pub use external::External;
