//! Checks vectors/ with the Python reference, a second implementation of the same specification.

use crate::shell::{command, root, run_whole, target_dir};
use crate::summary::Outcome;
use crate::venv;

pub(crate) fn step() -> Outcome {
    let folder = root().join("vectors/reference");
    if !folder.join("generate.py").is_file() {
        return Outcome::Skipped("vectors/reference/generate.py is missing".to_owned());
    }
    let venv = target_dir().join("venv");
    match venv::prepare(&venv, &folder.join("requirements.txt")) {
        Ok(()) => {}
        Err(reason) => return Outcome::Skipped(reason),
    }
    let python = venv.join("bin/python");
    Outcome::of(run_whole(&mut command(
        python,
        &["vectors/reference/generate.py", "--check"],
    )))
}
