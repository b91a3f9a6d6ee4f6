//! The container image: the program and its libraries, without a network while it is made, and tried where it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cross;
use crate::deb;
use crate::packages;
use crate::program::Program;
use crate::shell::{command, exists, output, run, target_dir};
use crate::summary::Outcome;

pub(crate) const PODMAN: &str = "podman";
const NAME: &str = "localhost/sealcast";
const HOW: &str = "cargo xtask image --install";
/// The users that the program may be told of: a library looks for the name of its own.
const USERS: &str = "root:x:0:0:root:/:/usr/sbin/nologin\n\
                     nobody:x:65534:65534:nobody:/var/lib/sealcast:/usr/sbin/nologin\n";
/// Ways to run a container: where control groups of both versions are mounted, only runc with its own files works.
const WAYS: [&[&str]; 2] = [&[PODMAN], &[PODMAN, "--runtime=runc", "--cgroup-manager=cgroupfs"]];

pub(crate) fn install() -> Outcome {
    Outcome::of(packages::install_these(&[PODMAN, "buildah", "crun", "runc"]))
}

/// `program`: one that is built already; else it is built.
pub(crate) fn step(program: Option<&Path>) -> Outcome {
    if !exists(PODMAN) {
        return Outcome::Skipped(format!("NOT RUN: needs {PODMAN}: {HOW}"));
    }
    let program = cross::given_or_built(program);
    match program.and_then(|program| made(&program)) {
        Ok(image) => tried(&image),
        Err(reason) => Outcome::Failed(reason),
    }
}

/// Makes the image; returns its name. The same program makes the same image, whose time is that of the package.
pub(crate) fn made(program: &Program) -> Result<String, String> {
    let architecture = program.architecture()?;
    let context = target_dir().join("image");
    let _ = fs::remove_dir_all(&context);
    let root = context.join("root");
    let place = root.join("usr/bin/sealcast");
    put(&program.file, &place, 0o755)?;
    program.strip_to(&place)?;
    for library in libraries(program)? {
        let place = library.strip_prefix("/").unwrap_or(&library);
        put(&library, &root.join(place), 0o755)?;
    }
    write(&root.join("etc/passwd"), USERS)?;
    write(&root.join("usr/share/doc/sealcast/THIRD-PARTY"), &program.licences()?)?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let from = crate::shell::root().join(name);
        put(&from, &root.join("usr/share/doc/sealcast").join(name), 0o644)?;
    }
    let state = context.join("state");
    fs::create_dir_all(&state).map_err(|error| format!("{}: {error}", state.display()))?;
    set_mode(&state, 0o700)?;
    let image = format!("{NAME}:{}", env!("CARGO_PKG_VERSION"));
    let mut build = command(
        PODMAN,
        &["build", "--network=none", "--file=packaging/container/Containerfile"],
    );
    build.args(["--arch", architecture, "--timestamp", &deb::Entry::newest()?.time]);
    run(build.args(["--tag", &image]).arg(&context))?;
    let _ = fs::remove_dir_all(&context);
    Ok(image)
}

/// The files that the program's dynamic linker would load, itself included; none for a static program.
fn libraries(program: &Program) -> Result<Vec<PathBuf>, String> {
    if program.is_static() {
        return Ok(Vec::new());
    }
    let said = output(Command::new("ldd").arg(&program.file));
    let said = said.ok_or_else(|| format!("this machine has no libraries for {program}: give a static one"))?;
    if said.contains("not found") {
        return Err(format!("{program} lacks libraries: {said}"));
    }
    let words = said.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(words.map(PathBuf::from).collect())
}

pub(crate) fn tried(image: &str) -> Outcome {
    let size = output(&mut command(PODMAN, &["image", "inspect", "--format={{.Size}}", image])).unwrap_or_default();
    let made = format!("{image}, {} bytes", size.trim());
    let limits = [
        "run",
        "--rm",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=1024:1024",
        "--network=none",
    ];
    let runs = |way: &&[&str]| {
        let mut command = command(way[0], &way[1..]);
        output(command.args(limits).args([image, "--version"])).is_some()
    };
    let Some(way) = WAYS.iter().find(|way| runs(way)) else {
        return Outcome::Skipped(format!("{made}; NOT TRIED: no container runs on this machine"));
    };
    let mut test = command("sh", &["packaging/test/image.sh", image]);
    match run(test.args(*way)) {
        Ok(()) => Outcome::Ok(made),
        Err(reason) => Outcome::Failed(reason),
    }
}

fn put(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    let bytes = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    place(to, &bytes, mode)
}

fn write(to: &Path, text: &str) -> Result<(), String> {
    place(to, text.as_bytes(), 0o644)
}

fn place(to: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", to.display());
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    fs::write(to, bytes).map_err(told)?;
    set_mode(to, mode)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| format!("{}: {error}", path.display()))
}
