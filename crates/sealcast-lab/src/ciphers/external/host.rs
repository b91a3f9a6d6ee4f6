//! The host program for libraries, compiled on first use.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

use crate::ciphers::worker::Done;

const SOURCE: &str = include_str!("host.c");
const COMPILER: &str = "cc";

/// The compiled program; deleted when dropped.
#[derive(Default)]
pub(in crate::ciphers) struct Host(OnceLock<Done<(TempDir, PathBuf)>>);

impl Host {
    /// One for all libraries of a run, so that it is compiled once.
    pub(in crate::ciphers) fn shared() -> Arc<Self> {
        Arc::default()
    }

    /// The path of the program.
    ///
    /// # Errors
    /// There is no C compiler, or it fails on this machine.
    pub(super) fn program(&self) -> Done<&Path> {
        match self.0.get_or_init(compile) {
            Ok((_, program)) => Ok(program),
            Err(why) => Err(why.clone()),
        }
    }
}

fn compile() -> Done<(TempDir, PathBuf)> {
    let failed = |what: &dyn std::fmt::Display| {
        format!(
            "the program that runs foreign ciphers cannot be compiled ({what}); install a C compiler as `{COMPILER}`"
        )
    };
    let folder = TempDir::with_prefix("sealcast-host").map_err(|error| failed(&error))?;
    let (source, program) = (folder.path().join("host.c"), folder.path().join("host"));
    std::fs::write(&source, SOURCE).map_err(|error| failed(&error))?;
    let mut compiler = Command::new(COMPILER);
    compiler.args(["-O2", "-o"]).arg(&program).arg(&source).arg("-ldl");
    let output = compiler
        .output()
        .map_err(|error| failed(&format!("`{COMPILER}`: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(&said.lines().next().unwrap_or("it does not say why")));
    }
    Ok((folder, program))
}
