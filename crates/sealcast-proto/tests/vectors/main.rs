//! Tests against the vectors in `vectors/`.

mod control;
mod datagrams;
mod gateway;
mod handshake;
mod records;
mod schedule;
mod signatures;
mod splits;
mod tickets;
