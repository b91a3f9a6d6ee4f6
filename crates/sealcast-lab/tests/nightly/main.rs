//! Tests that take long or measure in real time: `cargo test --test nightly`.

#[path = "../common/mod.rs"]
mod common;

mod bad_network;
mod browser_page;
mod net_media;
mod program_quic_network;
mod program_udp_network;
mod slow_links;
