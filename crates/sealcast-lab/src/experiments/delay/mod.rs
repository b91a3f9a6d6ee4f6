//! Delay from the start of sending to reception: text, audio and video over UDP between two processes, with and
//! without ciphers. It repeats the experiment of a paper on ciphers for multimedia, whose curves show delay over the
//! number of packets sent.

mod browse;
mod ends;
mod packet;
mod plan;
mod plot;
mod record;
mod table;

pub use ends::{DelayEnd, receive, send};
pub use plan::{DelayOptions, DelayResult, MEDIA, Medium, Sample, measure};
pub use record::write;
pub use table::terminal;
