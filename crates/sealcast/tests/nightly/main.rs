//! What takes long or measures in real time: `cargo test --test nightly`.

mod costs;
mod gateway_soak;
