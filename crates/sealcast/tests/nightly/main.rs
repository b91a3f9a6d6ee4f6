//! Tests that take long or measure in real time: `cargo test --test nightly`.

mod costs;
mod gateway_soak;
