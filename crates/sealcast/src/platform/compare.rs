//! Compares sealing with and without the processor's AES instructions. The cryptography library detects them once, at
//! its first use, so the program runs itself again with an environment that hides them from the library.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::probe::{AesInUse, SuiteSpeed};
use crate::failure::{Failure, FailureKind, Result};

/// Rounds of the comparison; each figure is the median over the rounds.
const ROUNDS: usize = 3;

/// One setting of the cryptography library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Instructions that the library may use.
    pub name: &'static str,
    /// Environment variable that restricts the library to them.
    environment: Option<(&'static str, &'static str)>,
}

/// The settings that can be compared on this architecture, beginning with all instructions, then with fewer each
/// time. Empty if the library offers no way to hide instructions.
pub fn variants() -> Vec<Variant> {
    // The masks clear bits of the CPUID words as the library stores them. x86: AES-NI is bit 57 and PCLMULQDQ bit 33
    // of the first pair, VAES bit 41 and VPCLMULQDQ bit 42 of the second. Arm: AES is bit 2, PMULL bit 5.
    let restricted: &[(&'static str, &'static str, &'static str)] =
        if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
            &[
                ("without VAES, VPCLMULQDQ", "OPENSSL_ia32cap", "~0x0:~0x60000000000"),
                ("software", "OPENSSL_ia32cap", "~0x200000200000000:~0x60000000000"),
            ]
        } else if cfg!(all(target_arch = "aarch64", target_os = "linux")) {
            &[("software", "OPENSSL_armcap", "~0x24")]
        } else {
            return Vec::new();
        };
    let restricted = restricted.iter().map(|&(name, key, mask)| Variant {
        name,
        environment: Some((key, mask)),
    });
    std::iter::once(Variant {
        name: "all instructions",
        environment: None,
    })
    .chain(restricted)
    .collect()
}

/// Speeds of the suites under one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Instructions that the library could use.
    pub variant: &'static str,
    /// The AES implementation that it used, inferred from the speeds.
    pub aes_in_use: AesInUse,
    /// Median speeds.
    pub speeds: Vec<SuiteSpeed>,
}

/// The fields read from the child's output; `print-config --json` prints more.
#[derive(Deserialize)]
struct ChildOutput {
    speeds: Vec<SuiteSpeed>,
}

/// Runs `program` with `arguments`, which must print a configuration as JSON, once per setting and round.
///
/// # Errors
/// Kind `Usage` if nothing can be compared on this architecture; kind `Internal` if the program cannot run itself.
pub fn compare(program: &Path, arguments: &[&str]) -> Result<Vec<ComparedRun>> {
    let variants = variants();
    if variants.is_empty() {
        return Err(Failure::new(
            FailureKind::Usage,
            "the cryptography library cannot hide instructions on this architecture",
            "leave out the comparison; the measured speeds are those in use",
        ));
    }
    let mut rounds = vec![Vec::new(); variants.len()];
    for round in 0..ROUNDS {
        // Measure forwards, then backwards, so that a slow drift of the machine affects all settings alike.
        for step in 0..variants.len() {
            let index = if round % 2 == 0 {
                step
            } else {
                variants.len() - 1 - step
            };
            rounds[index].push(run(program, arguments, variants[index])?);
        }
    }
    Ok(variants
        .iter()
        .zip(&rounds)
        .map(|(variant, rounds)| summarize(variant.name, rounds))
        .collect())
}

fn run(program: &Path, arguments: &[&str], variant: Variant) -> Result<Vec<SuiteSpeed>> {
    let refuse = |what: String| {
        let what = format!("{} cannot run itself for the comparison: {what}", program.display());
        Failure::new(
            FailureKind::Internal,
            what,
            "leave out the comparison; please report this",
        )
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env_remove("OPENSSL_ia32cap")
        .env_remove("OPENSSL_armcap");
    command.envs(variant.environment);
    let output = command.output().map_err(|error| refuse(error.to_string()))?;
    if !output.status.success() {
        return Err(refuse(output.status.to_string()));
    }
    let output: ChildOutput = serde_json::from_slice(&output.stdout).map_err(|error| refuse(error.to_string()))?;
    Ok(output.speeds)
}

fn summarize(variant: &'static str, rounds: &[Vec<SuiteSpeed>]) -> ComparedRun {
    let mut speeds = rounds.first().cloned().unwrap_or_default();
    for speed in &mut speeds {
        let same_suite = rounds.iter().flatten().filter(|other| other.suite == speed.suite);
        let mut figures: Vec<f64> = same_suite.map(|other| other.gigabytes_per_second).collect();
        figures.sort_unstable_by(f64::total_cmp);
        speed.gigabytes_per_second = figures[figures.len() / 2];
    }
    ComparedRun {
        variant,
        aes_in_use: AesInUse::judge(&speeds),
        speeds,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Stands in for the program; the environment decides how slow AES is.
    const SCRIPT: &str = r#"
        [ -n "$OPENSSL_ia32cap$OPENSSL_armcap" ] && aes=0.25 || aes=10.5
        echo '{"version":"1","speeds":[{"suite":"aes-128-gcm","gigabytes_per_second":'$aes'},
               {"suite":"chacha20-poly1305","gigabytes_per_second":2.5}]}'"#;

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn every_setting_is_run_in_its_environment() {
        let runs = compare(Path::new("/bin/sh"), &["-c", SCRIPT]).unwrap();
        assert_eq!(runs.len(), variants().len());
        assert_eq!(runs[0].aes_in_use, AesInUse::Hardware);
        assert!(
            runs[1..].iter().all(|run| run.aes_in_use == AesInUse::Software),
            "{runs:?}"
        );
        assert_eq!(runs.last().unwrap().variant, "software");
    }

    /// Not a check by itself: the test below runs this one in separate processes.
    #[test]
    fn speeds_are_printed() {
        let speeds = super::super::probe::measure_library_suites();
        println!("\nSPEEDS {}", serde_json::json!({ "speeds": speeds }));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_masks_hide_the_instructions_from_the_library() {
        if !std::arch::is_x86_feature_detected!("aes") {
            return;
        }
        let exe = std::env::current_exe().unwrap();
        let child = "--exact platform::compare::tests::speeds_are_printed --nocapture";
        let script = format!("'{}' {child} | sed -n 's/^SPEEDS //p'", exe.display());
        let runs = compare(Path::new("/bin/sh"), &["-c", &script]).unwrap();
        let aes = |run: &ComparedRun| {
            let speed = run.speeds.iter().find(|speed| speed.suite == "aes-128-gcm");
            speed.expect("it is measured").gigabytes_per_second
        };
        // They make some ten to twenty times of it, which other work on this machine does not hide.
        let (with, without) = (aes(&runs[0]), aes(&runs[runs.len() - 1]));
        assert!(with > without * 3.0, "{runs:?}");
    }

    #[test]
    fn a_program_that_fails_or_prints_something_else_is_said() {
        for script in ["exit 3", "echo hello"] {
            let failure = compare(Path::new("/bin/sh"), &["-c", script]).unwrap_err();
            assert!(failure.what.contains("cannot run itself"), "{failure}");
        }
        assert!(compare(Path::new("/nonexistent/program"), &[]).is_err());
    }

    #[test]
    fn the_median_of_the_rounds_counts() {
        let round = |gigabytes_per_second| {
            vec![SuiteSpeed {
                suite: "a".to_owned(),
                gigabytes_per_second,
            }]
        };
        let run = summarize("x", &[round(1.0), round(9.0), round(2.0)]);
        assert!((run.speeds[0].gigabytes_per_second - 2.0).abs() < f64::EPSILON);
    }
}
