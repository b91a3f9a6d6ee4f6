//! What is sent so that a block of records survives loss.

mod engine;
mod fec;

pub use fec::{
    Block, Decoder, EncodeError, Encoder, Inconsistent, MAX_BLOCK_BYTES, MAX_REPAIRS, MAX_SOURCES, MAX_SYMBOL,
    max_repairs, symbol_len,
};
