//! The alerts for Prometheus: whether they are valid, and when each fires. That their metrics exist is a test of the
//! program.

use crate::packages;
use crate::shell::{command, exists, root, run};
use crate::summary::Outcome;

const TOOL: &str = "promtool";

pub(crate) fn install() -> Outcome {
    Outcome::of(packages::install_these(&["prometheus"]))
}

pub(crate) fn step() -> Outcome {
    if !exists(TOOL) {
        return Outcome::Skipped(format!("NOT RUN: needs {TOOL}: cargo xtask alerts --install"));
    }
    let asked = |arguments: [&str; 3]| run(command(TOOL, &arguments).current_dir(root().join("packaging/prometheus")));
    let valid = asked(["check", "rules", "sealcast.rules.yml"]);
    Outcome::of(valid.and_then(|()| asked(["test", "rules", "sealcast.test.yml"])))
}
