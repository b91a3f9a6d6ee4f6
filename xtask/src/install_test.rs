//! Installs the Debian package in a fresh Debian system, and uses it there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cross;
use crate::deb;
use crate::packages;
use crate::program::Program;
use crate::shell::{command, exists, output, root, run, target_dir};
use crate::summary::Outcome;

const TOOLS: [&str; 4] = ["mmdebstrap", "unshare", "nsenter", "ip"];
const HOW: &str = "cargo xtask install-test --install";
/// The release that is tested, and what it has beside its base: what the package needs, and nothing that it should
/// name and does not.
const RELEASE: &str = "bookworm";
const INCLUDED: &str = "systemd,libstdc++6,libgcc-s1";

pub(crate) fn install() -> Outcome {
    Outcome::of(packages::install_these(&["mmdebstrap", "lintian", "iproute2"]))
}

/// `program`: one that is built already; else it is built.
pub(crate) fn step(program: Option<&Path>) -> Outcome {
    let missing: Vec<&str> = TOOLS.into_iter().filter(|tool| !exists(tool)).collect();
    if !missing.is_empty() {
        return Outcome::Skipped(format!("NOT RUN: needs {}: {HOW}", missing.join(", ")));
    }
    if output(Command::new("id").arg("-u")).is_none_or(|id| id.trim() != "0") {
        return Outcome::Skipped("NOT RUN: only root can install packages into another system".to_owned());
    }
    Outcome::of(cross::given_or_built(program).and_then(|program| test(&program)))
}

fn test(program: &Program) -> Result<(), String> {
    let place = target_dir().join("install-test");
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let system = place.join("system");
    let outcome = fresh_system(&place, &system).and_then(|()| {
        let version = deb::Entry::newest()?.version;
        for (folder, version) in [("first", version.clone()), ("second", format!("{version}+next"))] {
            deb::package(program, &version, &system.join("packages").join(folder))?;
        }
        for script in ["installed.sh", "services.sh"] {
            let to = system.join("packages").join(script);
            let copied = std::fs::copy(root().join("packaging/test").join(script), &to);
            copied.map_err(|error| format!("{}: {error}", to.display()))?;
        }
        inside(&system)?;
        booted(&system)
    });
    // It is large, and a run begins with a fresh one.
    let _ = std::fs::remove_dir_all(&system);
    outcome
}

/// Unpacks a Debian system. Its archive is kept for the next time.
fn fresh_system(place: &Path, system: &Path) -> Result<(), String> {
    let archive: PathBuf = place.join(format!("{RELEASE}.tar"));
    if !archive.is_file() {
        let half = place.join("half.tar");
        let mut command = Command::new("mmdebstrap");
        command
            .args(["--variant=minbase", &format!("--include={INCLUDED}"), RELEASE])
            .arg(&half);
        // The sources of packages that this machine uses.
        let sources = ["/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources"];
        let sources: Vec<&&str> = sources.iter().filter(|file| Path::new(file).is_file()).collect();
        run(command.args(sources))?;
        std::fs::rename(&half, &archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    }
    let _ = std::fs::remove_dir_all(system);
    std::fs::create_dir_all(system).map_err(|error| format!("{}: {error}", system.display()))?;
    run(Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(system))
}

/// Runs a script in the system, with processes, mounts and a network of its own: without an init, as in a container.
fn inside(system: &Path) -> Result<(), String> {
    let enter = "ip link set lo up && mount -t proc proc \"$1/proc\" && exec chroot \"$1\" sh /packages/installed.sh";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts"]);
    run(command.args(["sh", "-c", enter, "sh"]).arg(system))
}

/// Boots the system, and uses the package's services.
fn booted(system: &Path) -> Result<(), String> {
    run(command("sh", &["packaging/test/boot.sh"]).arg(system))
}
