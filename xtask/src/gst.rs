//! Checks the program with its feature `gst`, which no other check compiles: it needs GStreamer's headers.

use crate::packages;
use crate::shell::{cargo, command, exists, output, run};
use crate::summary::Outcome;

/// Packages for building, beside those of the tests.
const PACKAGES: [&str; 2] = ["libgstreamer1.0-dev", "libgstreamer-plugins-base1.0-dev"];
const HOW: &str = "cargo xtask gst --install (150 MB)";
/// Alone: with the whole workspace the laboratory would be compiled again as well.
const WITH: [&str; 5] = ["--package", "sealcast", "--features", "gst", "--locked"];

pub(crate) fn step() -> Outcome {
    if !headers_exist() {
        return Outcome::Skipped(format!("no headers of GStreamer: {HOW}"));
    }
    Outcome::of(check())
}

fn check() -> Result<(), String> {
    let targets = ["--lib", "--bins", "--test", "gst"];
    run(cargo(&["clippy"])
        .args(WITH)
        .args(targets)
        .args(["--", "-D", "warnings"]))?;
    // With the unit tests of all modules: some differ with the feature.
    run(cargo(&["test", "--no-fail-fast"]).args(WITH).args(targets))
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
