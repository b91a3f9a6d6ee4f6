//! Tests of the cipher crate, the only one with `unsafe` code, in environments that detect more faults than a plain
//! run: under the address sanitizer, and on aarch64, whose kernels run on no other machine.

use std::process::Command;

use crate::shell::{cargo, command, exists, output, run};
use crate::summary::Outcome;

const SANITIZED: &str = "x86_64-unknown-linux-gnu";
const FOREIGN: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

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

/// On other machines an emulator runs them, with correct results but lower speed.
pub(crate) fn aarch64() -> Outcome {
    if cfg!(target_arch = "aarch64") {
        return Outcome::Skipped("this machine is aarch64: the step `tests` has run them".to_owned());
    }
    let missing: Vec<&str> = [LINKER, EMULATOR]
        .into_iter()
        .filter(|program| !exists(program))
        .collect();
    if !missing.is_empty() {
        return Outcome::Skipped(format!("NOT RUN: not installed: {}", missing.join(", ")));
    }
    if output(&mut command("rustup", &["target", "add", FOREIGN])).is_none() {
        return Outcome::Skipped(format!("NOT RUN: `rustup target add {FOREIGN}` failed"));
    }
    let mut command = tests(FOREIGN);
    command
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{EMULATOR} -L /usr/aarch64-linux-gnu"),
        );
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
