//! Virtual environments of Python, for tools that come from its package index.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{command, output, run_whole};

/// A virtual environment with these requirements; made once for each content of the file.
pub(crate) fn prepare(venv: &Path, requirements: &Path) -> Result<(), String> {
    let wanted = fs::read_to_string(requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let stamp: PathBuf = venv.join("requirements.installed");
    let python = venv.join("bin/python");
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted)
        && output(&mut command(&python, &["--version"])).is_some()
    {
        return Ok(());
    }
    run_whole(command("python3", &["-m", "venv", "--clear"]).arg(venv))
        .map_err(|error| format!("no python3 venv: {error}"))?;
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ];
    run_whole(command(&python, &install).arg(requirements)).map_err(|_| "pip cannot reach its packages".to_owned())?;
    fs::write(stamp, wanted).map_err(|error| format!("{}: {error}", venv.display()))
}
