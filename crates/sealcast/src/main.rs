//! The `sealcast` command.
#![forbid(unsafe_code)]

fn main() {}
