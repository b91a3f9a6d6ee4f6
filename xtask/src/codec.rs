//! Checks that the program contains the H.264 codec's assembly.
//!
//! Without nasm, the codec is compiled without assembly, silently, and is two and a half times slower. That is
//! allowed on a machine without nasm. If nasm is installed, it means that the codec was compiled before nasm was
//! installed, which cargo does not notice.

use crate::checks;
use crate::shell::{cargo, command, exists, output, run, target_dir};
use crate::summary::Outcome;

/// Functions of the codec that have assembly versions.
const FAMILY: &str = "WelsSampleSatd";
const TWINS: [&str; 3] = ["_sse2", "_sse41", "_avx2"];

pub(crate) fn step() -> Outcome {
    if !cfg!(target_arch = "x86_64") {
        return Outcome::Skipped("nasm is for x86-64 only".to_owned());
    }
    match (count(), exists("nasm")) {
        (Err(reason), _) => Outcome::Failed(reason),
        (Ok(0), false) => Outcome::Skipped("nasm is not installed: the H.264 codec is slow".to_owned()),
        (Ok(0), true) => rebuild(),
        (Ok(found), _) => Outcome::Ok(format!("{found} {FAMILY} functions in assembly")),
    }
}

fn rebuild() -> Outcome {
    println!("The H.264 codec was compiled before nasm was installed; compiling it again.");
    if let Err(reason) = run(&mut cargo(&["clean", "--package", "openh264-sys2"])) {
        return Outcome::Failed(reason);
    }
    if let Outcome::Failed(reason) = checks::build() {
        return Outcome::Failed(reason);
    }
    match count() {
        Ok(0) => Outcome::Failed("nasm is installed, but the program has none of the codec's assembly".to_owned()),
        Ok(found) => Outcome::Ok(format!(
            "{found} {FAMILY} functions in assembly, after compiling the codec again"
        )),
        Err(reason) => Outcome::Failed(reason),
    }
}

/// The number of the codec's assembly functions in the program's symbol table.
fn count() -> Result<usize, String> {
    let program = target_dir().join("debug/sealcast");
    let symbols = output(command("nm", &[]).arg(&program)).ok_or("nm cannot read the program's symbols")?;
    let family: Vec<&str> = symbols.lines().filter(|line| line.contains(FAMILY)).collect();
    if family.is_empty() {
        return Err(format!(
            "the program has no {FAMILY} function at all: where is its H.264 codec?"
        ));
    }
    Ok(family
        .iter()
        .filter(|line| TWINS.iter().any(|twin| line.ends_with(twin)))
        .count())
}
