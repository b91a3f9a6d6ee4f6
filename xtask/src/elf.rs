//! Programs in ELF, of every machine.

use std::path::Path;
use std::process::Command;

use crate::shell::output;

/// The output of readelf, which reads programs of every machine.
pub(crate) fn read_elf(options: &[&str], program: &Path) -> Result<String, String> {
    let mut readelf = Command::new("readelf");
    let said = output(readelf.arg("--wide").args(options).arg(program).env("LC_ALL", "C"));
    let words = options.join(" ");
    said.ok_or_else(|| format!("`readelf {words} {}` failed: is binutils installed?", program.display()))
}

/// Fails if a program's table of addresses could be overwritten while it runs. GNU objcopy takes that protection from
/// programs of LLVM's linker when it removes a section.
pub(crate) fn is_hardened(program: &Path) -> Result<(), String> {
    let said = read_elf(&["--program-headers", "--dynamic"], program)?;
    let missing: Vec<&str> = ["GNU_RELRO", "BIND_NOW"]
        .into_iter()
        .filter(|protection| !said.contains(protection))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("{} lacks {}", program.display(), missing.join(" and "))),
    }
}
