//! Attackers on the way and strangers at the ports.

mod handshake;
mod port;
mod quic_port;
mod records;
mod udp;
mod udp_port;
