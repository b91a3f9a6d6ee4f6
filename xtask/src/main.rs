//! The one door for people and for CI.
//!
//! `cargo xtask test` on a fresh Debian machine installs what the tests need and runs every check there is; the other
//! commands are its parts. Only the standard library is used, so this program builds in a second on any machine.

#![forbid(unsafe_code)]

mod checks;
mod codec;
mod dist;
mod formal;
mod fuzz;
mod installed;
mod kernels;
mod packages;
mod reference;
mod shell;
mod summary;
mod tidy;

use std::process::ExitCode;
use std::time::Duration;

use summary::Summary;

const USAGE: &str = "\
cargo xtask COMMAND

  test                      install what the tests need (Debian packages), then run every check
  check                     quick: formatting, clippy, tidy
  packages                  only the first step of `test`
  tidy                      the house rules that clippy does not know
  fuzz [--seconds N] [--target NAME] [--install]
                            run each fuzz target for N seconds (20)
  formal [--install]        run the Verifpal models of docs/formal against what they say of themselves
  sanitizer                 the cipher crate's tests under the address sanitizer
  aarch64                   the same tests on aarch64, in an emulator
  installed                 the program built alone refuses study suites, and holds none of their code
  reference                 check vectors/ against the Python reference
  dist                      the program to install, compiled by what runs how often in it (20 minutes)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut summary = Summary::default();
    let _all_went_well = match words.as_slice() {
        ["test"] => everything(&mut summary),
        ["check"] => quick(&mut summary),
        ["packages"] => summary.step("packages", packages::install),
        ["tidy"] => summary.step("tidy", tidy::step),
        ["sanitizer"] => summary.step("sanitizer", kernels::sanitizer),
        ["aarch64"] => summary.step("aarch64", kernels::aarch64),
        ["installed"] => summary.step("installed", installed::step),
        ["dist"] => summary.step("dist", dist::step),
        ["reference"] => summary.step("reference", reference::step),
        ["formal"] => summary.step("formal", formal::step),
        ["formal", "--install"] => {
            summary.step("install", formal::install);
            summary.step("formal", formal::step)
        }
        ["fuzz", rest @ ..] => return fuzz_command(rest, summary),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    summary.finish()
}

/// Every step runs even after one has failed, except those that need the build.
fn everything(summary: &mut Summary) -> bool {
    summary.step("packages", packages::install);
    quick(summary);
    if summary.step("build", checks::build) {
        summary.step("codec", codec::step);
        summary.step("tests", checks::tests);
    } else {
        summary.skip("codec", "the build failed");
        summary.skip("tests", "the build failed");
    }
    summary.step("sanitizer", kernels::sanitizer);
    summary.step("aarch64", kernels::aarch64);
    summary.step("docs", checks::docs);
    summary.step("reference", reference::step);
    summary.step("fuzz", || fuzz::step(Duration::from_secs(5), None));
    summary.step("formal", formal::step)
}

fn quick(summary: &mut Summary) -> bool {
    summary.step("format", checks::format);
    summary.step("tidy", tidy::step);
    summary.step("clippy", checks::clippy)
}

fn fuzz_command(words: &[&str], mut summary: Summary) -> ExitCode {
    let mut seconds = 20;
    let mut target = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let value = rest.as_slice().first();
        match (*word, value) {
            ("--install", _) => {
                summary.step("install", fuzz::install);
                continue;
            }
            ("--seconds", Some(value)) if value.parse::<u64>().is_ok() => seconds = value.parse().unwrap_or(seconds),
            ("--target", Some(value)) => target = Some(*value),
            _ => {
                eprint!("{USAGE}");
                return ExitCode::from(2);
            }
        }
        rest.next();
    }
    summary.step("fuzz", || fuzz::step(Duration::from_secs(seconds), target));
    summary.finish()
}
