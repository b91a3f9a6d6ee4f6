//! Tests that take long or measure in real time: `cargo test --test nightly`.

mod archive_kills;
mod coded_cameras;
mod costs;
mod gateway_soak;
mod guest;
mod local_cameras;
mod publisher_kills;
mod quic_flood;
mod relays;
