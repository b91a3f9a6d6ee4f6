//! Tests of the cipher crate, the only one with `unsafe` code, under the address sanitizer, which detects more faults
//! than a plain run.

use std::process::Command;

use crate::shell::{cargo, run};
use crate::summary::Outcome;

const SANITIZED: &str = "x86_64-unknown-linux-gnu";

/// Checks every load and store of the kernels. Uses the pinned compiler, which has the sanitizer, though it is not
/// stable yet.
pub(crate) fn sanitizer() -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Outcome::Skipped("NOT RUN: the address sanitizer comes with the compiler for x86-64 Linux".to_owned());
    }
    let mut command = tests(SANITIZED);
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address");
    Outcome::of(run(&mut command))
}

/// Published values, and each kernel compared with its definition; folders of vectors would take minutes here.
fn tests(target: &str) -> Command {
    cargo(&[
        "test",
        "--release",
        "--package",
        "sealcast-cipher",
        "--target",
        target,
        "--lib",
        "--test",
        "ciphers",
        "--locked",
    ])
}
