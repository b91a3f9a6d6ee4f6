//! Running programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository, independent of the current folder.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("xtask"), PathBuf::from);
    manifest.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Cargo's target folder.
pub(crate) fn target_dir() -> PathBuf {
    let root = root();
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// `program arguments…` in the root of the repository.
pub(crate) fn command(program: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(arguments).current_dir(root());
    command
}

/// The cargo that runs this program, with the workspace's own toolchain.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command(cargo_program(), arguments)
}

pub(crate) fn cargo_program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// A cargo subcommand with another toolchain. rustup's proxy selects it, so variables of this one must not be
/// inherited.
pub(crate) fn nightly_cargo(arguments: &[&str]) -> Command {
    let mut command = command("cargo", &["+nightly"]);
    command.args(arguments);
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

/// Prints the command, runs it with its output shown, and returns how it failed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    println!("$ {}", line(command));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` ended with {status}", line(command))),
        Err(error) => Err(format!("`{}` did not start: {error}", line(command))),
    }
}

/// As [`run`], for one of several concurrent commands: its output is shown as a whole when it has ended.
pub(crate) fn run_whole(command: &mut Command) -> Result<(), String> {
    said_by(command).map(drop)
}

/// Most lines of a failed command's output that its error has: test programs name what failed at their end.
const LAST_LINES: usize = 60;

/// As [`run_whole`]; returns the output, which is shown as well. An error has the output's end in lines of its own.
pub(crate) fn said_by(command: &mut Command) -> Result<String, String> {
    let line = line(command);
    let outcome = command.stdin(Stdio::null()).output();
    let output = outcome.map_err(|error| format!("`{line}` did not start: {error}"))?;
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    let said = said.concat();
    println!("$ {line}\n{said}");
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("`{line}` ended with {}\n{}", output.status, end_of(&said))),
    }
}

fn end_of(said: &str) -> String {
    let lines: Vec<&str> = said.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Runs the command quietly and returns its standard output; `None` if it failed or does not exist.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// True if this program is in `PATH`.
pub(crate) fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let program = Path::new(&words[0])
        .file_name()
        .map_or(words[0].clone(), |name| name.to_string_lossy().into_owned());
    [&[program], &words[1..]].concat().join(" ")
}
