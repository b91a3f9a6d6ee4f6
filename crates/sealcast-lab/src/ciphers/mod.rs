//! Cost of ciphers on packets and on frames of video: ours, in all their kernels, compared with those of libraries.
//!
//! A contender first has to reproduce published values; one that does not is reported as wrong and not timed. Rounds
//! are interleaved. The record on disk grows with each round, so that a stopped run can continue.

mod alone;
mod browse;
mod code;
pub(crate) mod contender;
mod cycles;
mod energy;
mod external;
mod figures;
mod hardware;
mod library;
pub mod load;
mod measure;
mod method;
mod nature;
mod papers;
pub(crate) mod plan;
pub(crate) mod plot;
mod record;
mod summary;
mod table;
pub(crate) mod worker;
mod workload;

pub use alone::{Answer, Question, answer};
pub use external::External;
pub use plan::{CipherOptions, measure};
pub use record::{Record, write};
pub use table::terminal;
