//! Tests that take long: `cargo test --test nightly`.

mod datagrams_hour;
