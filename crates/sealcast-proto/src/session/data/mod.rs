//! Data channels beside the picture (protocol.md §12): datagrams of other programs, under keys of their own.

mod channels;
mod counts;
mod inbox;
mod lane;
mod pace;
mod part;

pub use counts::{DataCounts, Datagram};
pub(super) use part::DataPart;
