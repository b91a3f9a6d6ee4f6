//! Checks vectors/ with the Python reference, a second implementation of the same specification.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{command, output, root, run, target_dir};
use crate::summary::Outcome;

pub(crate) fn step() -> Outcome {
    let folder = root().join("vectors/reference");
    if !folder.join("generate.py").is_file() {
        return Outcome::Skipped("vectors/reference/generate.py is missing".to_owned());
    }
    let venv = target_dir().join("venv");
    match prepare(&venv, &folder.join("requirements.txt")) {
        Ok(()) => {}
        Err(reason) => return Outcome::Skipped(reason),
    }
    let python = venv.join("bin/python");
    Outcome::of(run(&mut command(python, &["vectors/reference/generate.py", "--check"])))
}

/// A virtual environment with the reference's dependencies; created once for each content of its requirements.
fn prepare(venv: &Path, requirements: &Path) -> Result<(), String> {
    let wanted = fs::read_to_string(requirements).map_err(|error| format!("requirements.txt: {error}"))?;
    let stamp: PathBuf = venv.join("requirements.installed");
    let python = venv.join("bin/python");
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted)
        && output(&mut command(&python, &["--version"])).is_some()
    {
        return Ok(());
    }
    run(command("python3", &["-m", "venv", "--clear"]).arg(venv))
        .map_err(|error| format!("no python3 venv: {error}"))?;
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ];
    run(command(&python, &install).arg(requirements)).map_err(|_| "pip cannot reach its packages".to_owned())?;
    fs::write(stamp, wanted).map_err(|error| format!("{}: {error}", venv.display()))
}
