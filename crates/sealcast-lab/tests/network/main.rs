//! Links and proxies, with real programs that use them.

#[path = "../common/mod.rs"]
mod common;

mod gateway_latency;
mod gateway_pictures;
mod multicast;
mod net;
mod proxy;
mod spoofed;
