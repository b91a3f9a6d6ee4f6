//! The driver `v4l2loopback` for the kernel of the virtual machine: a video device that gives out what a program writes
//! to it, Motion JPEG and H.264 among them, which no test driver of the kernel has.
//!
//! Debian has its source alone. It is compiled against the headers of the very kernel, and nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{command, output, run};

const SOURCE: &str = "v4l2loopback-dkms";
const MODULE: &str = "v4l2loopback.ko";

/// Flags of the driver's stamps, and the right ones: it takes them from the monotonic clock, and does not say so.
/// Without this nobody would believe them.
const STAMPS: (&str, &str) = ("b->flags = 0;", "b->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;");

/// True if the kernel in this folder has the driver.
pub(crate) fn exists(kernel: &Path) -> bool {
    release(kernel).is_ok_and(|release| place(kernel, &release).is_file())
}

/// Compiles the driver for the kernel in this folder, unless that is done.
pub(crate) fn build(kernel: &Path) -> Result<(), String> {
    let release = release(kernel)?;
    let place = place(kernel, &release);
    if place.is_file() {
        return Ok(());
    }
    let folder = kernel.join("build");
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(told)?;
    }
    fs::create_dir_all(&folder).map_err(told)?;
    let compiled = compile(&folder, &release)?;
    fs::create_dir_all(place.parent().unwrap_or(kernel)).map_err(told)?;
    run(command("strip", &["--strip-debug", "-o"]).arg(&place).arg(&compiled))?;
    fs::remove_dir_all(&folder).map_err(told)
}

/// Downloads the headers and the driver's source into the folder; returns the module that they make.
fn compile(folder: &Path, release: &str) -> Result<PathBuf, String> {
    let headers = format!("linux-headers-{release}");
    let depends = output(&mut command("apt-cache", &["depends", &headers])).unwrap_or_default();
    let needed = depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        // Not its compiler: that of this machine does.
        .filter(|name| name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-"));
    let packages: Vec<&str> = needed.chain([headers.as_str(), SOURCE]).collect();
    run(command("apt-get", &["download"]).args(&packages).current_dir(folder)).map_err(|error| {
        format!("{error}; if apt has no headers of the kernel {release} any more, remove target/guest-kernel")
    })?;
    for archive in entries(folder)?.filter(|file| file.extension().is_some_and(|end| end == "deb")) {
        run(command("dpkg-deb", &["--extract"]).arg(&archive).arg(folder))?;
    }
    let sources = folder.join("usr/src");
    let headers = sources.join(headers);
    // Debian's name for where the headers will be is absolute.
    edit(
        &headers.join("Makefile"),
        "/usr/src/",
        &format!("{}/", sources.display()),
    )?;
    let driver = entries(&sources)?
        .find(|file| file.join("v4l2loopback.c").is_file())
        .ok_or(format!("{SOURCE} has no source of the driver"))?;
    edit(&driver.join("v4l2loopback.c"), STAMPS.0, STAMPS.1)?;
    let of = |path: &Path| path.display().to_string();
    let modules = format!("M={}", of(&driver));
    run(&mut command(
        "make",
        &["-C", &of(&headers), &modules, "CC=gcc", "modules"],
    ))?;
    Ok(driver.join(MODULE))
}

/// Replaces a text that must be there.
fn edit(file: &Path, from: &str, to: &str) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(told)?;
    if !text.contains(from) {
        return Err(format!("{} does not contain \"{from}\"", file.display()));
    }
    fs::write(file, text.replace(from, to)).map_err(told)
}

fn entries(folder: &Path) -> Result<impl Iterator<Item = PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()))
}

/// The release of the kernel in this folder, such as `6.1.0-56-amd64`.
fn release(kernel: &Path) -> Result<String, String> {
    let release = entries(&kernel.join("lib/modules"))?.next();
    let name = release.as_deref().and_then(Path::file_name);
    name.map(|name| name.to_string_lossy().into_owned())
        .ok_or(format!("{} has no modules", kernel.display()))
}

fn place(kernel: &Path, release: &str) -> PathBuf {
    kernel.join("lib/modules").join(release).join("extra").join(MODULE)
}
