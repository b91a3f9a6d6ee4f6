//! Protection of a block of records against loss: repair symbols, and how many of them are sent (docs/repair.md).

mod engine;
mod fec;
mod policy;

pub use fec::{
    Block, Decoder, EncodeError, Encoder, Inconsistent, MAX_BLOCK_BYTES, MAX_REPAIRS, MAX_SOURCES, MAX_SYMBOL,
    max_repairs, symbol_len,
};
pub use policy::{PathLoss, RepairPolicy, TARGET_FAILURE, repairs};
