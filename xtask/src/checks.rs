//! The steps that are one cargo command each.
//!
//! All of them use the dev profile, in which our own code is optimised a little and dependencies, codecs among them, as
//! in a release: clippy, tests, documentation and `cargo run` share what build scripts compiled. All select the whole
//! workspace: a single package would have other features, and every dependency would be compiled once more for it.

use std::process::Command;

use crate::shell::{cargo, command, run};
use crate::summary::Outcome;

/// Tests of one binary that run at once. Most of them wait for a process or a socket most of the time.
const TEST_THREADS: &str = "6";

pub(crate) fn format() -> Outcome {
    Outcome::of(run(&mut cargo(&["fmt", "--all", "--check"])))
}

/// `--all-targets` leaves out the tests that plain `cargo test` leaves out, so they are named.
pub(crate) fn clippy() -> Outcome {
    let on = |targets: &[&str]| {
        let mut command = cargo(&["clippy", "--workspace", "--locked"]);
        run(command.args(targets).args(["--", "-D", "warnings"]))
    };
    Outcome::of(on(&["--all-targets"]).and_then(|()| on(&["--test", "nightly"])))
}

/// Programs and tests in one command: dependencies get the same features as in `tests`, so nothing is compiled twice.
pub(crate) fn build() -> Outcome {
    Outcome::of(run(&mut cargo(&[
        "build",
        "--workspace",
        "--bins",
        "--tests",
        "--locked",
    ])))
}

const TEST: [&str; 4] = ["test", "--workspace", "--no-fail-fast", "--locked"];

pub(crate) fn tests() -> Outcome {
    Outcome::of(run(&mut many_at_once(cargo(&TEST))))
}

/// The same with everything that it starts on one processor.
pub(crate) fn tests_on_one_processor() -> Outcome {
    let cargo = cargo(&[]).get_program().to_string_lossy().into_owned();
    let words = [&["-c", "0", cargo.as_str()], TEST.as_slice()].concat();
    Outcome::of(run(&mut many_at_once(command("taskset", &words))))
}

/// The test binaries named `nightly`: what takes minutes or goes by real time. They are measured on, so this is the
/// release profile, and one at a time.
pub(crate) fn nightly_tests() -> Outcome {
    let mut programs = cargo(&["build", "--release", "--workspace", "--bins", "--locked"]);
    let mut tests = cargo(&["test", "--release", "--workspace", "--no-fail-fast", "--locked"]);
    tests.args(["--test", "nightly", "--", "--test-threads=1"]);
    Outcome::of(run(&mut programs).and_then(|()| run(&mut tests)))
}

fn many_at_once(mut command: Command) -> Command {
    command.env("RUST_TEST_THREADS", TEST_THREADS);
    command
}

pub(crate) fn docs() -> Outcome {
    let mut command = cargo(&[
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--locked",
    ]);
    Outcome::of(run(command.env("RUSTDOCFLAGS", "-D warnings")))
}
