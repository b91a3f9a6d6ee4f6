//! The Debian package: the program, its services, manual and completions, made by Debian's own tools.
//!
//! The same program and sources make the same bytes: times are that of the changelog's newest entry.

mod elf;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cross;
use crate::program::{NAME, Program};
use crate::shell::{command, exists, output, root, run, target_dir};
use crate::summary::Outcome;
use tree::Tree;

const TOOLS: [&str; 3] = ["dpkg-deb", "dpkg-parsechangelog", "readelf"];

/// `program`: one that is built already; else it is built as `cargo install` builds it.
pub(crate) fn step(program: Option<&Path>) -> Outcome {
    let missing: Vec<&str> = TOOLS.into_iter().filter(|tool| !exists(tool)).collect();
    if !missing.is_empty() {
        return Outcome::Skipped(format!("not installed: {}", missing.join(", ")));
    }
    let made = cross::given_or_built(program).and_then(|program| {
        let version = Entry::newest()?.version;
        package(&program, &version, &target_dir().join("deb"))
    });
    match made.and_then(|file| judged(&file).map(|words| (file, words))) {
        Ok((file, words)) => Outcome::Ok(format!("{}, {words}", file.display())),
        Err(reason) => Outcome::Failed(reason),
    }
}

/// The newest entry of the package's changelog.
pub(crate) struct Entry {
    pub(crate) version: String,
    /// In seconds since 1970.
    pub(crate) time: String,
}

impl Entry {
    pub(crate) fn newest() -> Result<Self, String> {
        let field = |name: &str| {
            let mut command = command("dpkg-parsechangelog", &["--file", "packaging/debian/changelog"]);
            let said = output(command.args(["--show-field", name]));
            said.map(|said| said.trim().to_owned())
                .filter(|said| !said.is_empty())
                .ok_or_else(|| format!("packaging/debian/changelog has no {name}"))
        };
        let version = field("Version")?;
        let upstream = version.rsplit_once('-').map_or(&*version, |(upstream, _)| upstream);
        if upstream != env!("CARGO_PKG_VERSION") {
            let ours = env!("CARGO_PKG_VERSION");
            return Err(format!(
                "packaging/debian/changelog ends with {version}, and the program is {ours}: add an entry"
            ));
        }
        Ok(Self {
            version,
            time: field("Timestamp")?,
        })
    }
}

/// Makes the package of a program in `folder`; returns its file.
pub(crate) fn package(program: &Program, version: &str, folder: &Path) -> Result<PathBuf, String> {
    let architecture = program.architecture()?;
    let entry = Entry::newest()?;
    let tree = Tree::new(folder.join(format!("{NAME}-{version}-{architecture}")))?;
    tree.fill(program)?;
    let depends = elf::needs(&program.file)?;
    tree.write(
        "DEBIAN/control",
        &control(version, architecture, &depends, tree.size()?)?,
    )?;
    tree.write("DEBIAN/conffiles", &tree.configuration_files()?)?;
    tree.write("DEBIAN/md5sums", &tree.sums()?)?;
    for script in ["postinst", "prerm", "postrm"] {
        tree.program(&format!("packaging/debian/{script}"), &format!("DEBIAN/{script}"))?;
    }
    let file = folder.join(format!("{NAME}_{version}_{architecture}.deb"));
    let mut command = Command::new("dpkg-deb");
    command
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&tree.root)
        .arg(&file);
    run(command.env("SOURCE_DATE_EPOCH", &entry.time))?;
    fs::remove_dir_all(&tree.root).map_err(|error| format!("{}: {error}", tree.root.display()))?;
    Ok(file)
}

fn control(version: &str, architecture: &str, depends: &str, kilobytes: u64) -> Result<String, String> {
    let description = fs::read_to_string(root().join("packaging/debian/description"));
    let description = description.map_err(|error| format!("packaging/debian/description: {error}"))?;
    let maintainer = output(&mut command(
        "dpkg-parsechangelog",
        &["--file", "packaging/debian/changelog", "--show-field", "Maintainer"],
    ))
    .ok_or("packaging/debian/changelog has no maintainer")?;
    let maintainer = maintainer.trim();
    Ok(format!(
        "Package: {NAME}\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {kilobytes}\n\
         Depends: {depends}, systemd | systemd-standalone-sysusers | systemd-sysusers, \
         systemd | systemd-standalone-tmpfiles | systemd-tmpfiles\n\
         Suggests: adjtimex, prometheus\n\
         Section: video\n\
         Priority: optional\n\
         Description: {description}"
    ))
}

/// Errors and warnings of lintian are failures.
pub(crate) fn judged(file: &Path) -> Result<String, String> {
    let size = fs::metadata(file).map_or(0, |found| found.len());
    if !exists("lintian") {
        return Ok(format!(
            "{size} bytes; NOT looked at by lintian, which is not installed"
        ));
    }
    let mut command = Command::new("lintian");
    command.args(["--fail-on", "error,warning", "--allow-root"]).arg(file);
    run(&mut command)?;
    Ok(format!("{size} bytes, lintian finds nothing"))
}
