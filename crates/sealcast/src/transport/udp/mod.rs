//! UDP (protocol.md §7): sockets that send and receive in batches, and a listener for many peers.

mod client;
pub(crate) mod demultiplexer;
mod far_end;
pub(crate) mod inbox;
mod listener;
mod multicast;
mod peer;
mod place;
mod runs;
mod socket;

pub(super) use client::connect;
pub use client::connect_any;
pub use listener::{UdpListener, listen};
pub use multicast::MulticastOut;
pub use peer::UdpTransport;
pub use runs::{Path, Runs};
pub use socket::{DatagramSocket, Fragments, RECEIVE_BUFFER, SEND_BUFFER, Sent};
