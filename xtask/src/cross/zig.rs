//! Zig as the C and C++ compiler of static programs: it brings musl, LLVM's C++ library and a linker, for all machines.
//! Debian has no C++ library for musl.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{cargo_program, command, output, root, target_dir};
use crate::venv;

/// Zig, and the program that has cargo use it, from Python's package index.
const REQUIREMENTS: &str = "xtask/zig-requirements.txt";
/// Parts that Zig links into a program, and the file with the licence of each.
const LINKED: [(&str, &str); 5] = [
    ("Zig's own parts of the C library and of the compiler's", "LICENSE"),
    ("musl", "lib/libc/musl/COPYRIGHT"),
    ("libc++ of LLVM", "lib/libcxx/LICENSE.TXT"),
    ("libc++abi of LLVM", "lib/libcxxabi/LICENSE.TXT"),
    ("libunwind of LLVM", "lib/libunwind/LICENSE.TXT"),
];

/// Lets the kernel put the program anywhere in memory, as it does with others; with cargo-zigbuild alone it does not.
pub(super) const LINKING: [&str; 2] = ["--", "-Clink-arg=-pie"];

fn folder() -> PathBuf {
    target_dir().join("venv-zig")
}

pub(super) fn install() -> Result<(), String> {
    venv::prepare(&folder(), &root().join(REQUIREMENTS))
}

pub(super) fn is_there() -> bool {
    folder().join("bin/cargo-zigbuild").is_file() && package().is_ok()
}

/// The folder of Zig itself.
fn package() -> Result<PathBuf, String> {
    let find = ["-c", "import ziglang; print(ziglang.__path__[0])"];
    let said = output(&mut command(folder().join("bin/python"), &find));
    let said = said.ok_or_else(|| format!("no zig in {}", folder().display()))?;
    Ok(PathBuf::from(said.trim()))
}

/// `cargo rustc …` with Zig, for `cargo build …`: so [`LINKING`] can stand at the end.
pub(super) fn cargo(arguments: &[&str]) -> Command {
    let bin = folder().join("bin");
    let mut command = command(bin.join("cargo-zigbuild"), &["rustc"]);
    command.args(&arguments[1..]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(bin).chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(paths) {
        command.env("PATH", path);
    }
    command.env("CARGO", cargo_program());
    command
}

/// The version of Zig.
pub(crate) fn version() -> Result<String, String> {
    let zig = package()?.join("zig");
    let said = output(&mut command(zig, &["version"])).ok_or("`zig version` failed")?;
    Ok(said.trim().to_owned())
}

/// Licences of what is linked in from Zig.
pub(crate) fn licences() -> Result<String, String> {
    let zig = package()?;
    let text = |(name, file): &(&str, &str)| {
        let path = zig.join(file);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(format!("\n{}\nOf {name}:\n\n{}\n", "=".repeat(80), text.trim()))
    };
    LINKED.iter().map(text).collect()
}
