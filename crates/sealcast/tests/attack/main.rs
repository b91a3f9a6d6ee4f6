//! Attackers on the path, strangers who connect to the ports, and hostile peers that were admitted.

mod addresses;
mod admitted;
mod cameras;
mod floods;
mod groups;
mod handshake;
mod invites;
mod local;
mod names;
mod port;
mod quic_port;
mod records;
mod relay_client;
mod told;
mod udp;
mod udp_port;
mod web_port;
mod webtransport;
