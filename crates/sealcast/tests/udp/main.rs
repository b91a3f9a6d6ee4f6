//! Datagrams on real sockets, without sessions.

mod listener;
mod quic_carriage;
mod sockets;
