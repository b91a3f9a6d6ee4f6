//! The alerts for Prometheus: whether they are valid, and when each fires; and whether Grafana knows the dashboard's
//! fields. That their metrics exist is a test of the program.

use std::path::PathBuf;

use crate::packages;
use crate::shell::{command, exists, root, run, target_dir};
use crate::summary::Outcome;
use crate::venv;

const TOOL: &str = "promtool";
/// Grafana's library for dashboards, from Python's package index.
const REQUIREMENTS: &str = "xtask/grafana-requirements.txt";
const HOW: &str = "cargo xtask alerts --install";

pub(crate) fn install() -> Outcome {
    match packages::install_these(&["prometheus"]) {
        Ok(()) => Outcome::of(venv::prepare(&folder(), &root().join(REQUIREMENTS))),
        Err(reason) => Outcome::Failed(reason),
    }
}

pub(crate) fn step() -> Outcome {
    if !exists(TOOL) {
        return Outcome::Skipped(format!("NOT RUN: needs {TOOL}: {HOW}"));
    }
    let asked = |arguments: [&str; 3]| run(command(TOOL, &arguments).current_dir(root().join("packaging/prometheus")));
    let rules =
        asked(["check", "rules", "sealcast.rules.yml"]).and_then(|()| asked(["test", "rules", "sealcast.test.yml"]));
    let python = folder().join("bin/python");
    match rules {
        Err(reason) => Outcome::Failed(reason),
        Ok(()) if !python.is_file() => Outcome::Skipped(format!(
            "the alerts are fine; NOT RUN: the dashboard needs Grafana's library: {HOW}"
        )),
        Ok(()) => {
            let read = [root().join("packaging/grafana/read_back.py")];
            Outcome::of(run(command(python, &[]).args(read)))
        }
    }
}

fn folder() -> PathBuf {
    target_dir().join("venv-grafana")
}
