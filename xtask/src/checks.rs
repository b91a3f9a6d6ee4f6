//! Steps of cargo.
//!
//! All use the dev profile, which optimises our own code slightly and dependencies, including codecs, as for a
//! release. So clippy, tests, documentation and `cargo run` share the results of build scripts. All select the whole
//! workspace: a single package would have other features, and every dependency would be compiled again for it.

use crate::shell::{cargo, run, run_whole};
use crate::summary::Outcome;
use crate::test_programs::{self, Crowd, Manner};

pub(crate) fn format() -> Outcome {
    Outcome::of(run(&mut cargo(&["fmt", "--all", "--check"])))
}

/// `--all-targets` excludes the tests that a plain `cargo test` excludes, so they are listed by name.
pub(crate) fn clippy() -> Outcome {
    let on = |targets: &[&str]| {
        let mut command = cargo(&["clippy", "--workspace", "--locked"]);
        run(command.args(targets).args(["--", "-D", "warnings"]))
    };
    Outcome::of(on(&["--all-targets"]).and_then(|()| on(&["--test", "nightly"])))
}

/// Builds programs and tests with one command: dependencies get the same features as in `tests`, so nothing is
/// compiled twice.
pub(crate) fn build() -> Outcome {
    Outcome::of(run(&mut cargo(&[
        "build",
        "--workspace",
        "--bins",
        "--tests",
        "--locked",
    ])))
}

pub(crate) fn tests() -> Outcome {
    Outcome::of_tests(test_programs::run_all(Manner::USUAL))
}

/// Runs the tests with all their processes on one processor.
pub(crate) fn tests_on_one_processor() -> Outcome {
    Outcome::of_tests(test_programs::run_all(Manner {
        prefix: &["taskset", "-c", "0"],
        limit: Manner::SLOW,
        ..Manner::USUAL
    }))
}

/// Runs the test binaries named `nightly`, which take minutes or depend on real time. They measure performance, so
/// they use the release profile and run one at a time.
pub(crate) fn nightly_tests() -> Outcome {
    let mut programs = cargo(&["build", "--release", "--workspace", "--bins", "--locked"]);
    let mut tests = test_programs::of_workspace();
    tests.args(["--release", "--test", "nightly"]);
    let alone = Manner {
        crowd: Crowd { programs: 1, tests: 1 },
        limit: Manner::SLOW,
        ..Manner::USUAL
    };
    let ran = run(&mut programs).and_then(|()| test_programs::run_built(tests, alone));
    Outcome::of_tests(ran.map(|ran| ran.skips))
}

/// The laboratory's comparison with MLS, which no other check compiles.
pub(crate) fn mls() -> Outcome {
    let mut tests = cargo(&["test", "--release", "--package", "sealcast-lab", "--features", "mls"]);
    Outcome::of(run(tests.args(["--locked", "--test", "lab", "groups::"])))
}

pub(crate) fn docs() -> Outcome {
    let mut command = cargo(&[
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--locked",
    ]);
    Outcome::of(run_whole(command.env("RUSTDOCFLAGS", "-D warnings")))
}
