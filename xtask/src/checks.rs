//! The steps that are one cargo command each.
//!
//! All of them use the release profile. The tests push video through real codecs, which takes minutes when unoptimised,
//! and the C and assembly of the codec and of the cryptographic library are compiled by build scripts once per profile:
//! with one profile, clippy, tests, documentation and the program share them.

use crate::shell::{cargo, run};
use crate::summary::Outcome;

pub(crate) fn format() -> Outcome {
    Outcome::of(run(&mut cargo(&["fmt", "--all", "--check"])))
}

/// `--all-targets` leaves out the tests that plain `cargo test` leaves out, so they are named.
pub(crate) fn clippy() -> Outcome {
    let on = |targets: &[&str]| {
        let mut command = cargo(&["clippy", "--release", "--workspace", "--locked"]);
        run(command.args(targets).args(["--", "-D", "warnings"]))
    };
    Outcome::of(on(&["--all-targets"]).and_then(|()| on(&["--test", "nightly"])))
}

/// Programs and tests in one command: dependencies get the same features as in `tests`, so nothing is compiled twice.
pub(crate) fn build() -> Outcome {
    Outcome::of(run(&mut cargo(&[
        "build",
        "--release",
        "--workspace",
        "--bins",
        "--tests",
        "--locked",
    ])))
}

pub(crate) fn tests() -> Outcome {
    Outcome::of(run(&mut cargo(&[
        "test",
        "--release",
        "--workspace",
        "--no-fail-fast",
        "--locked",
    ])))
}

pub(crate) fn docs() -> Outcome {
    let mut command = cargo(&[
        "doc",
        "--release",
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--locked",
    ]);
    Outcome::of(run(command.env("RUSTDOCFLAGS", "-D warnings")))
}
