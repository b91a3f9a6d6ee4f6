//! Checks crates/sealcast-moq, the client between the program and a relay for Media over QUIC, with a real relay, and
//! the page with both. The client is a workspace of its own, so that no other check compiles its dependencies.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{cargo, root, run, target_dir};
use crate::summary::Outcome;
use crate::web;

/// The relay that the client is tested with; its protocol changes between releases.
const VERSION: &str = "0.17.10";
const PROGRAM: &str = "moq-relay";
/// The client's workspace.
pub(crate) const MANIFEST: &str = "crates/sealcast-moq/Cargo.toml";

pub(crate) fn step() -> Outcome {
    let Some(relay) = relay() else {
        let reason = format!("no {PROGRAM} {VERSION}: cargo xtask relay --install (12 minutes)");
        return Outcome::Skipped(reason);
    };
    match check(&relay) {
        Ok(()) => Outcome::Ok(format!(
            "with {}",
            relay.strip_prefix(root()).unwrap_or(&relay).display()
        )),
        Err(reason) => Outcome::Failed(reason),
    }
}

/// The variable limits the relay's dependencies to versions that our compiler supports. A mirror of the registry can
/// lack one that the relay's lock file names; then its dependencies are those of today.
pub(crate) fn install() -> Outcome {
    let locked = run(&mut installation(&["--locked"]));
    Outcome::of(locked.or_else(|reason| {
        println!("{reason}; trying with the dependencies of today");
        run(&mut installation(&[]))
    }))
}

fn installation(more: &[&str]) -> Command {
    let mut command = cargo(&["install", PROGRAM, "--version", VERSION]);
    command
        .args(["--no-default-features", "--features", "noq,websocket"])
        .args(more)
        .arg("--root")
        .arg(folder())
        .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback");
    command
}

fn check(relay: &Path) -> Result<(), String> {
    run(&mut cargo(&["fmt", "--check", "--manifest-path", MANIFEST]))?;
    let strict = ["--all-targets", "--", "-D", "warnings"];
    run(client("clippy").args(strict))?;
    run(&mut client("build"))?;
    run(client("test").env("MOQ_RELAY", relay))?;
    run(&mut cargo(&["build", "--package", "sealcast", "--locked"]))?;
    let client = client_target().join("release");
    run(&mut timed(relay, &client))?;
    web::through_relay(relay, &client)
}

/// The program with real relays, in real time.
fn timed(relay: &Path, client: &Path) -> Command {
    let mut tests = cargo(&["test", "--package", "sealcast", "--locked", "--test", "nightly"]);
    tests.args(["--", "--test-threads=1", "--nocapture", "relays::"]);
    if let Some(path) = web::with_path([client].into_iter()) {
        tests.env("PATH", path);
    }
    tests.env("MOQ_RELAY", relay);
    tests
}

/// A cargo command for the client. All of them share a profile, since its dependencies take minutes to compile.
fn client(what: &str) -> Command {
    let mut command = cargo(&[what, "--release", "--locked", "--manifest-path", MANIFEST]);
    command.env("CARGO_TARGET_DIR", client_target());
    command
}

fn client_target() -> PathBuf {
    target_dir().join("relay-build")
}

/// Folder in which the relay is installed.
fn folder() -> PathBuf {
    target_dir().join("relay")
}

/// The installed relay, or one in `PATH`.
fn relay() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder().join("bin")).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(PROGRAM)).find(|path| path.is_file())
}
