//! Running programs, and the folders they run in.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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

/// The compiler's own target.
pub(crate) fn compilers_target() -> Result<String, String> {
    output(&mut command("rustc", &["--version", "--verbose"]))
        .and_then(|said| Some(said.lines().find_map(|line| line.strip_prefix("host: "))?.to_owned()))
        .ok_or_else(|| "`rustc --version --verbose` names no host".to_owned())
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

/// Longest time that one of several concurrent commands may take: three times what the slowest needs on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45 * 60);

/// As [`run_whole`]; returns the output, which is shown as well. An error has the output's end in lines of its own.
pub(crate) fn said_by(command: &mut Command) -> Result<String, String> {
    said_within(PATIENCE, command)
}

/// As [`said_by`]. A command that runs for longer than `limit` is killed, and what it said until then tells where it
/// stood.
pub(crate) fn said_within(limit: Duration, command: &mut Command) -> Result<String, String> {
    let line = line(command);
    let (ended, said) = kept(limit, command).map_err(|error| format!("`{line}` did not start: {error}"))?;
    println!("$ {line}\n{said}");
    match ended {
        Some(status) if status.success() => Ok(said),
        Some(status) => Err(format!("`{line}` ended with {status}\n{}", end_of(&said))),
        None => {
            let seconds = limit.as_secs();
            let why = format!("`{line}` had not ended after {seconds} s, and was killed");
            Err(format!("{why}\n{}", end_of(&said)))
        }
    }
}

/// The end of the command, if it came in time, and its output. That goes to files: a process that the command leaves
/// behind would hold a pipe open, and be waited for.
fn kept(limit: Duration, command: &mut Command) -> io::Result<(Option<ExitStatus>, String)> {
    let mut files = [unnamed_file()?, unnamed_file()?];
    let (output, errors) = (files[0].try_clone()?, files[1].try_clone()?);
    let mut child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn()?;
    let ended = ended_within(limit, &mut child)?;
    let mut said = Vec::new();
    for file in &mut files {
        file.rewind()?;
        file.read_to_end(&mut said)?;
    }
    Ok((ended, String::from_utf8_lossy(&said).into_owned()))
}

/// The end of a process, which is killed if there is none within `limit`.
fn ended_within(limit: Duration, child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// A file for reading and writing that is gone once it is closed.
fn unnamed_file() -> io::Result<File> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = target_dir();
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("output-{}-{number}.tmp", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
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

/// Writes a text to a file, with the folders above it.
pub(crate) fn write(text: &str, to: &Path) -> Result<(), String> {
    let told = |error: io::Error| format!("{}: {error}", to.display());
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    fs::write(to, text).map_err(told)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(words: &str) -> Command {
        command("sh", &["-c", words])
    }

    #[test]
    fn output_and_errors_are_kept_whole() {
        let said = said_by(&mut shell("echo out; echo wrong >&2")).expect("it succeeds");
        assert_eq!(said, "out\nwrong\n");
    }

    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let begun = Instant::now();
        let said = said_by(&mut shell("sleep 600 & echo $!")).expect("it succeeds");
        assert!(begun.elapsed() < Duration::from_secs(300), "it was waited for");
        let killed = command("kill", &[said.trim()]).status();
        assert!(killed.expect("there is kill").success(), "the process still ran");
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_and_what_it_said_is_told() {
        let mut endless = shell("echo test a has been running for over 60 seconds; exec sleep 600");
        let failure = said_within(Duration::from_secs(2), &mut endless).expect_err("it never ends");
        assert!(failure.contains("had not ended after 2 s"), "{failure}");
        assert!(
            failure.ends_with("\ntest a has been running for over 60 seconds"),
            "{failure}"
        );
    }
}
