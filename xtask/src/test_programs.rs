//! Runs the workspace's test programs, two at a time. Cargo runs one after the other, and the last tests of each wait
//! for a minute to pass while the processors idle.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use crate::shell::{PATIENCE, cargo, command, run, said_within};
use crate::skips::Skips;

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

/// Numbers of programs and tests that run at once.
#[derive(Clone, Copy)]
pub(crate) struct Crowd {
    /// Test programs.
    pub(crate) programs: usize,
    /// Tests of each.
    pub(crate) tests: usize,
}

/// Some of a test program's tests.
pub(crate) struct Chosen {
    /// The test program's name.
    pub(crate) program: &'static str,
    /// Parts of the tests' names; all tests if there are none.
    pub(crate) tests: &'static [&'static str],
}

/// Tests that are not run, of one test program. What is left out is printed and counted.
pub(crate) struct LeftOut {
    /// The test program's name: `program`, `sealcast`.
    pub(crate) program: &'static str,
    /// Parts of their names, as `--skip` takes them.
    pub(crate) tests: &'static [&'static str],
    pub(crate) why: &'static str,
}

#[cfg(test)]
impl LeftOut {
    /// Checks that each of the tests exists.
    pub(crate) fn check(&self) {
        let root = crate::shell::root();
        let files = crate::paths::sources(&root).expect("git lists the sources");
        let Self { program, tests, .. } = self;
        let library = format!("crates/{}/src/", program.replace('_', "-"));
        for name in *tests {
            let (path, function) = name.rsplit_once("::").expect("a module and a test");
            let module = format!("/tests/{program}/{path}.rs");
            let has = |file: &PathBuf| {
                let place = file.to_string_lossy();
                let looked_at = place.ends_with(&module) || place.starts_with(&library);
                let text = looked_at.then(|| std::fs::read_to_string(root.join(file)));
                text.is_some_and(|text| text.expect("readable").contains(&format!("fn {function}()")))
            };
            assert!(files.iter().any(has), "there is no test {name} of {program}");
        }
    }
}

/// Manner in which test programs are run.
#[derive(Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// Words before each: a program and its arguments, or nothing.
    pub(crate) prefix: &'a [&'a str],
    pub(crate) crowd: Crowd,
    /// Those that are run; all if there are none.
    pub(crate) chosen: &'a [Chosen],
    pub(crate) left_out: &'a [LeftOut],
    /// Longest time that a test program may take.
    pub(crate) limit: Duration,
}

impl Manner<'_> {
    /// As in the step `tests`, most of which wait for a process or a socket most of the time.
    pub(crate) const USUAL: Self = Self {
        prefix: &[],
        crowd: Crowd { programs: 2, tests: 4 },
        chosen: &[],
        left_out: &[],
        limit: PATIENCE,
    };
    /// For test programs that run many times as slowly as usual.
    pub(crate) const SLOW: Duration = PATIENCE.saturating_mul(4);
}

/// Result of a run.
#[derive(Default)]
pub(crate) struct Ran {
    /// Number of test programs.
    pub(crate) programs: usize,
    /// Number of tests that were left out.
    left_out: usize,
    pub(crate) skips: Skips,
}

impl Ran {
    /// For the table of the steps.
    pub(crate) fn note(&self) -> String {
        let mut parts = vec![format!("{} test programs", self.programs)];
        if self.left_out > 0 {
            parts.push(format!("{} tests are left out, named above", self.left_out));
        }
        parts.extend(Some(self.skips.note()).filter(|note| !note.is_empty()));
        parts.join("; ")
    }
}

/// Builds and runs all tests in this manner, and those of the documentation as usual.
pub(crate) fn run_all(manner: Manner<'_>) -> Result<Skips, String> {
    let ran = run_built(of_workspace(), manner);
    let documented = run(cargo(&TEST).arg("--doc"));
    ran.and_then(|ran| documented.map(|()| ran.skips))
}

/// The command that builds all test programs of the workspace as the step `tests` does.
pub(crate) fn of_workspace() -> Command {
    let mut build = cargo(&TEST);
    build.arg("--no-run");
    build
}

/// Builds test programs with this command of cargo and runs them.
pub(crate) fn run_built(build: Command, manner: Manner<'_>) -> Result<Ran, String> {
    let mut programs = built(build)?;
    let is_there = |chosen: &&Chosen| programs.iter().any(|program| program.name() == chosen.program);
    if let Some(missing) = manner.chosen.iter().find(|chosen| !is_there(chosen)) {
        return Err(format!("there is no test program {}", missing.program));
    }
    for LeftOut { program, tests, why } in manner.left_out {
        println!("not run, since {why}: of {program} {}", tests.join(", "));
    }
    programs.retain(|program| manner.chosen.is_empty() || program.chosen_in(&manner).next().is_some());
    let count = programs.len();
    let waiting = Mutex::new(programs.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let lane =
        || -> Vec<Result<Skips, String>> { std::iter::from_fn(next).map(|program| program.run(&manner)).collect() };
    let ended: Vec<Result<Skips, String>> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..manner.crowd.programs).map(|_| scope.spawn(lane)).collect();
        let panicked = |_| vec![Err("a lane of tests panicked".to_owned())];
        lanes
            .into_iter()
            .flat_map(|lane| lane.join().unwrap_or_else(panicked))
            .collect()
    });
    let mut ran = Ran {
        programs: count,
        left_out: manner.left_out.iter().map(|left| left.tests.len()).sum(),
        ..Ran::default()
    };
    let mut failures = Vec::new();
    for one in ended {
        match one {
            Ok(skips) => ran.skips.add(skips),
            Err(reason) => failures.push(reason),
        }
    }
    match failures.is_empty() {
        true => Ok(ran),
        false => Err(format!(
            "of {count} test programs, {} failed: {}",
            failures.len(),
            joined(&failures)
        )),
    }
}

/// Names all that failed in one line, and then has the ends of their outputs.
fn joined(failures: &[String]) -> String {
    let parts = failures
        .iter()
        .map(|failure| failure.split_once('\n').unwrap_or((failure, "")));
    let (what, ends): (Vec<&str>, Vec<&str>) = parts.unzip();
    format!("{}\n{}", what.join("; "), ends.join("\n"))
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

    fn chosen_in<'a>(&'a self, manner: &Manner<'a>) -> impl Iterator<Item = &'a Chosen> {
        let name = self.name();
        manner.chosen.iter().filter(move |chosen| chosen.program == name)
    }

    fn run(&self, manner: &Manner<'_>) -> Result<Skips, String> {
        let executable = self.executable.to_string_lossy();
        let words = [manner.prefix, &[executable.as_ref()]].concat();
        let mut command = command(words[0], &words[1..]);
        command.args(self.chosen_in(manner).flat_map(|chosen| chosen.tests));
        for left in manner.left_out.iter().filter(|left| left.program == self.name()) {
            command.args(left.tests.iter().flat_map(|test| ["--skip", *test]));
        }
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("RUST_TEST_THREADS", manner.crowd.tests.to_string());
        let said = said_within(manner.limit, &mut command)?;
        Ok(Skips::of(&said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_tells_what_was_left_out_and_skipped_if_anything_was() {
        let mut ran = Ran {
            programs: 2,
            ..Ran::default()
        };
        assert_eq!(ran.note(), "2 test programs");
        ran.left_out = 3;
        ran.skips = Skips::of("SKIPPED a: no IPv6");
        assert_eq!(
            ran.note(),
            "2 test programs; 3 tests are left out, named above; 1 skipped in tests: no IPv6 (1)"
        );
    }

    #[test]
    fn what_failed_is_one_line_before_the_ends_of_all_outputs() {
        let failures = ["`a` ended with 1\na's end".to_owned(), "`b` did not start".to_owned()];
        assert_eq!(joined(&failures), "`a` ended with 1; `b` did not start\na's end\n");
    }

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
