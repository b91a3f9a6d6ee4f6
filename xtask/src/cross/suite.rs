//! The tests of the cipher crate on aarch64, in an emulator: results are right, times say nothing.

use super::{Target, target};
use crate::shell::run;
use crate::summary::Outcome;

/// Published values, and each kernel compared with its definition; folders of vectors would take minutes here.
const TESTS: [&str; 6] = [
    "test",
    "--release",
    "--package=sealcast-cipher",
    "--lib",
    "--test",
    "ciphers",
];

/// Runs them, since NEON kernels run on no other machine.
pub(crate) fn step() -> Outcome {
    if cfg!(target_arch = "aarch64") {
        return Outcome::Skipped("this machine is aarch64: the step `tests` has run them".to_owned());
    }
    let Some(aarch64) = target("aarch64") else {
        return Outcome::Failed("there is no target aarch64".to_owned());
    };
    match aarch64.missing() {
        Some(missing) => Outcome::Skipped(missing),
        None => Outcome::of(tests(aarch64)),
    }
}

fn tests(aarch64: &Target) -> Result<(), String> {
    let (emulator, libraries) = aarch64.emulator;
    let runner = aarch64.variable("RUNNER");
    let mut tests = aarch64.cargo(&TESTS);
    run(tests.env(runner, format!("{emulator} -L {libraries}")))
}
