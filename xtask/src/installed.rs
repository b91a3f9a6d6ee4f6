//! Tests the program as users install it: built alone, without the features that the laboratory enables.

use std::fs;

use crate::shell::{cargo, command, run, target_dir};
use crate::summary::Outcome;

/// Exit code for invalid options.
const USAGE: i32 = 2;
/// The crate of the study kernels, as it appears in symbols and in paths of source files.
const KERNELS: [&str; 2] = ["sealcast_cipher", "sealcast-cipher"];

/// Checks that without its study suites the program explains how to get them, and contains none of their code.
pub(crate) fn step() -> Outcome {
    Outcome::of(
        build()
            .and_then(|()| refuses_study_suites())
            .and_then(|()| holds_no_kernel()),
    )
}

fn build() -> Result<(), String> {
    run(&mut cargo(&["build", "--package", "sealcast", "--locked"]))
}

fn program() -> std::path::PathBuf {
    target_dir().join("debug/sealcast")
}

fn refuses_study_suites() -> Result<(), String> {
    let typed = ["publish", "test:", "--insecure-study-suite", "trivium"];
    // It must fail before it creates an identity. If it does not, the identity must not go to the home of the user
    // who runs this.
    let home = target_dir().join("installed");
    let output = command(program(), &typed).env("HOME", &home).output();
    let output = output.map_err(|error| format!("the program did not start: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(USAGE) {
        return Err(format!(
            "it ended with {}, not with exit code {USAGE}: {said}",
            output.status
        ));
    }
    for words in ["built without study suites", "--features study"] {
        if !said.contains(words) {
            return Err(format!("it does not say \"{words}\": {said}"));
        }
    }
    Ok(())
}

fn holds_no_kernel() -> Result<(), String> {
    let path = program();
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    match KERNELS.iter().find(|name| contains(&bytes, name.as_bytes())) {
        Some(name) => Err(format!("{} contains \"{name}\"", path.display())),
        None => Ok(()),
    }
}

fn contains(bytes: &[u8], name: &[u8]) -> bool {
    bytes.windows(name.len()).any(|window| window == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_wherever_it_is() {
        assert!(contains(b"xxsealcast_cipher::rc4", KERNELS[0].as_bytes()));
        assert!(contains(b"sealcast-cipher", KERNELS[1].as_bytes()));
        assert!(!contains(b"sealcast_ciph", KERNELS[0].as_bytes()));
    }
}
