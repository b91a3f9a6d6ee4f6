//! What ciphers cost on packets and on frames of video: ours, in all their kernels, and those of libraries beside them.
//!
//! A contender first has to give published values; one that does not is reported as wrong and not timed. Rounds are
//! interleaved, and the record on disk grows with each, so that a run which was stopped goes on where it was.

mod alone;
mod browse;
mod code;
mod contender;
mod cycles;
mod energy;
mod figures;
mod hardware;
mod library;
mod measure;
mod method;
mod nature;
mod papers;
mod plan;
pub(crate) mod plot;
mod record;
mod summary;
mod table;
mod workload;

pub use alone::{Answer, Question, answer};
pub use plan::{CipherOptions, measure};
pub use record::{Record, write};
pub use table::terminal;
