//! What takes long: `cargo test --test nightly`.

mod datagrams_hour;
