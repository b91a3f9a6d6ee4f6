//! Runs the workspace's test programs, two at a time. Cargo runs one after the other, and the last tests of each wait
//! for a minute to pass while the processors idle.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::shell::{cargo, command, run, run_whole};

/// Most tests wait for a process or a socket most of the time.
const CROWD: Crowd = Crowd { programs: 2, tests: 4 };
/// Cargo's words for all tests of the workspace: any other selection would have other features, and be built again.
const TEST: [&str; 3] = ["test", "--workspace", "--locked"];

/// A line of what cargo says about a build.
#[derive(Deserialize)]
struct Built {
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A program whose tests are run as cargo runs them.
struct TestProgram {
    executable: PathBuf,
    /// The folder of its package.
    folder: PathBuf,
}

/// How many run at once.
#[derive(Clone, Copy)]
pub(crate) struct Crowd {
    /// Test programs.
    pub(crate) programs: usize,
    /// Tests of each.
    pub(crate) tests: usize,
}

/// Tests that are not run, of one test program.
pub(crate) struct LeftOut {
    /// The test program's name: `program`, `sealcast`.
    pub(crate) program: &'static str,
    /// Parts of their names, as `--skip` takes them.
    pub(crate) tests: &'static [&'static str],
    pub(crate) why: &'static str,
}

/// Builds and runs all tests. `prefix` stands before each test program, and has the name of a program and its arguments
/// if it is not empty.
pub(crate) fn run_all(prefix: &[&str]) -> Result<(), String> {
    let mut build = cargo(&TEST);
    build.arg("--no-run");
    let ran = run_built(build, prefix, CROWD, &[]);
    let documented = run(cargo(&TEST).arg("--doc"));
    ran.and(documented)
}

/// Builds test programs with this command of cargo and runs them; returns their number.
pub(crate) fn run_built(build: Command, prefix: &[&str], crowd: Crowd, left_out: &[LeftOut]) -> Result<usize, String> {
    let programs = built(build)?;
    let count = programs.len();
    let waiting = Mutex::new(programs.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let lane = || -> Vec<String> {
        std::iter::from_fn(next)
            .filter_map(|program| program.run(prefix, crowd, left_out).err())
            .collect()
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..crowd.programs).map(|_| scope.spawn(lane)).collect();
        let panicked = |_| vec!["a lane of tests panicked".to_owned()];
        lanes
            .into_iter()
            .flat_map(|lane| lane.join().unwrap_or_else(panicked))
            .collect()
    });
    match failures.is_empty() {
        true => Ok(count),
        false => Err(format!(
            "of {count} test programs, {} failed: {}",
            failures.len(),
            failures.join("; ")
        )),
    }
}

/// Builds all test programs; those that need the name `nightly` on the command line are not among them.
fn built(mut build: Command) -> Result<Vec<TestProgram>, String> {
    build.arg("--message-format=json-render-diagnostics");
    let built = build.stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| format!("cargo did not start: {error}"))?;
    if !built.status.success() {
        return Err("the tests could not be built".to_owned());
    }
    let programs: Vec<TestProgram> = String::from_utf8_lossy(&built.stdout)
        .lines()
        .filter_map(TestProgram::of_line)
        .collect();
    match programs.is_empty() {
        true => Err("cargo named no test program".to_owned()),
        false => Ok(programs),
    }
}

impl TestProgram {
    fn of_line(line: &str) -> Option<Self> {
        let built: Built = serde_json::from_str(line).ok()?;
        let folder = built.manifest_path?.parent().map(Path::to_path_buf)?;
        let executable = built
            .executable
            .filter(|_| built.profile.is_some_and(|profile| profile.test))?;
        Some(Self { executable, folder })
    }

    /// Its name, which cargo lengthens with a hash.
    fn name(&self) -> &str {
        let stem = self.executable.file_stem().and_then(|stem| stem.to_str());
        let name = stem.and_then(|stem| stem.rsplit_once('-'));
        name.map_or("", |(name, _)| name)
    }

    fn run(&self, prefix: &[&str], crowd: Crowd, left_out: &[LeftOut]) -> Result<(), String> {
        let executable = self.executable.to_string_lossy();
        let words = [prefix, &[executable.as_ref()]].concat();
        let mut command = command(words[0], &words[1..]);
        for left in left_out.iter().filter(|left| left.program == self.name()) {
            command.args(left.tests.iter().flat_map(|test| ["--skip", *test]));
        }
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        run_whole(command.env("RUST_TEST_THREADS", crowd.tests.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_with_tests_are_run() {
        let line = |executable: &str, test| {
            let package = r#""reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml""#;
            format!(r#"{{{package},"executable":{executable},"profile":{{"test":{test}}}}}"#)
        };
        let found = TestProgram::of_line(&line(r#""/w/target/a-b-1f""#, true)).expect("a test program");
        assert_eq!(found.name(), "a-b");
        assert_eq!(
            (found.executable, found.folder),
            ("/w/target/a-b-1f".into(), "/w/a".into())
        );
        for other in [
            line(r#""/w/target/a""#, false),
            line("null", true),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "words".to_owned(),
        ] {
            assert!(TestProgram::of_line(&other).is_none(), "{other}");
        }
    }
}
