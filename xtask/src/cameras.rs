//! Publishes from real video devices: those of test drivers, in a virtual machine with Debian's kernel.
//! The machine is emulated, so it needs no rights and no devices of this one.

use std::path::{Path, PathBuf};

use crate::shell::{cargo, command, exists, output, run, target_dir};
use crate::summary::Outcome;
use crate::{loopback, packages};

const QEMU: &str = "qemu-system-x86_64";
const PACKAGES: [&str; 6] = [
    "qemu-system-x86",
    "busybox-static",
    "v4l-utils",
    "gcc",
    "make",
    "libelf1",
];
/// Depends on the newest kernel.
const NEWEST: &str = "linux-image-amd64";
const HOW: &str = "cargo xtask cameras --install (105 MB)";

pub(crate) fn step() -> Outcome {
    if !programs_exist() {
        return Outcome::Skipped(format!("needs {}: {HOW}", PACKAGES.join(", ")));
    }
    let kernel = folder();
    if !kernel.join("boot").is_dir() || !loopback::exists(&kernel) {
        return Outcome::Skipped(format!("no kernel with all drivers for the virtual machine: {HOW}"));
    }
    let mut tests = cargo(&["test", "--package", "sealcast", "--locked", "--test", "nightly"]);
    tests.args(["--", "--test-threads=1", "_cameras"]);
    Outcome::of(run(tests.env("SEALCAST_GUEST_KERNEL", kernel)))
}

/// Installs the emulator, and unpacks a kernel without installing it: this machine keeps its own.
pub(crate) fn install() -> Outcome {
    if !exists("apt-get") {
        let what = "not a Debian machine: install QEMU and busybox by hand, and unpack a Debian kernel into";
        return Outcome::Skipped(format!("{what} {}", folder().display()));
    }
    let programs = match programs_exist() {
        true => Ok(()),
        false => packages::install_these(&PACKAGES),
    };
    let kernel = programs.and_then(|()| unpack_kernel(&folder()));
    Outcome::of(kernel.and_then(|()| loopback::build(&folder())))
}

fn programs_exist() -> bool {
    [QEMU, "busybox", "v4l2-ctl", "gcc", "make"].into_iter().all(exists)
}

fn unpack_kernel(folder: &Path) -> Result<(), String> {
    if folder.join("boot").is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let depends = output(&mut command("apt-cache", &["depends", NEWEST])).unwrap_or_default();
    let package = depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .find(|name| name.starts_with("linux-image-"))
        .ok_or("apt knows no kernel: apt-get update")?;
    run(command("apt-get", &["download", package]).current_dir(folder))?;
    let files = std::fs::read_dir(folder).map_err(|error| error.to_string())?.flatten();
    let archive = files
        .map(|file| file.path())
        .find(|file| file.extension().is_some_and(|end| end == "deb"))
        .ok_or("apt downloaded nothing")?;
    run(command("dpkg-deb", &["--extract"]).arg(&archive).arg(folder))?;
    std::fs::remove_file(&archive).map_err(|error| error.to_string())
}

/// Folder into which the kernel is unpacked.
fn folder() -> PathBuf {
    target_dir().join("guest-kernel")
}
