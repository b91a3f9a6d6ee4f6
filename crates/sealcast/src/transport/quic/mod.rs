//! QUIC (protocol.md §8): a stream for control messages, and streams or datagrams for media. Neither its encryption
//! nor its authentication is trusted: our own records and handshake run inside.

mod client;
pub(super) mod config;
mod datagrams;
pub(crate) mod door;
mod groups;
pub(super) mod handshakes;
pub(crate) mod incoming;
mod listener;
mod peer;
mod socket;
mod tls;
mod window;

pub(super) use client::{connect, transport};
pub use listener::QuicListener;
pub(super) use listener::listen;
pub use peer::QuicTransport;
