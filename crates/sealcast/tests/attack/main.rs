//! Attackers on the path, and strangers who connect to the ports.

mod handshake;
mod local;
mod port;
mod quic_port;
mod records;
mod udp;
mod udp_port;
