//! Checks the program with its feature `gst`, which no other check compiles: it needs GStreamer's headers.

use crate::packages;
use crate::shell::{cargo, command, exists, output, run};
use crate::summary::Outcome;

/// What building needs beside the packages of the tests.
const PACKAGES: [&str; 2] = ["libgstreamer1.0-dev", "libgstreamer-plugins-base1.0-dev"];
const HOW: &str = "cargo xtask gst --install (150 MB)";
/// All packages are selected, so that dependencies have the features that they have everywhere else.
const WITH: [&str; 4] = ["--workspace", "--features", "sealcast/gst", "--locked"];

pub(crate) fn step() -> Outcome {
    if !headers_exist() {
        return Outcome::Skipped(format!("no headers of GStreamer: {HOW}"));
    }
    Outcome::of(check())
}

fn check() -> Result<(), String> {
    let targets = ["--lib", "--bins", "--test", "gst", "--", "-D", "warnings"];
    run(cargo(&["clippy"]).args(WITH).args(targets))?;
    run(cargo(&["test"]).args(WITH).args(["--test", "gst", "--no-fail-fast"]))?;
    // The unit tests of the modules that only this feature has, and of those that differ with it.
    let units = [
        "--lib",
        "--no-fail-fast",
        "--",
        "gst",
        "source::url",
        "sink::url",
        "print_config",
    ];
    run(cargo(&["test"]).args(WITH).args(units))
}

pub(crate) fn install() -> Outcome {
    if !exists("apt-get") {
        return Outcome::Skipped(format!("not a Debian machine: install {} by hand", PACKAGES.join(", ")));
    }
    match headers_exist() {
        true => Outcome::Ok("GStreamer's headers are installed".to_owned()),
        false => Outcome::of(packages::install_these(&PACKAGES)),
    }
}

fn headers_exist() -> bool {
    output(&mut command(
        "pkg-config",
        &["--modversion", "gstreamer-video-1.0", "gstreamer-app-1.0"],
    ))
    .is_some()
}
