//! What ciphers cost on packets and on frames of video: ours, in all their kernels, and those of libraries beside them.
//!
//! A contender first has to give published values; one that does not is reported as wrong and not timed. Rounds are
//! interleaved, and the record on disk grows with each, so that a run which was stopped goes on where it was.

mod browse;
pub(crate) mod contender;
mod energy;
mod external;
mod library;
mod measure;
pub(crate) mod plan;
pub(crate) mod plot;
mod record;
mod table;
pub(crate) mod worker;
mod workload;

pub use external::External;
pub use plan::{CipherOptions, measure};
pub use record::{Record, write};
pub use table::terminal;
