//! The program for other machines than this one, with Debian's cross compilers.

mod emulated;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::deb;
use crate::packages;
use crate::paths::{Places, cargo_home};
use crate::sbom;
use crate::shell::{cargo, command, exists, output, root, run, target_dir};
use crate::summary::Outcome;

pub(crate) use suite::step as suite;

/// The profile of what users are given; another is for trying.
pub(crate) const PROFILE: &str = "dist";

/// A kind of machine, and what builds and runs programs for it here.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    triple: &'static str,
    /// How the names of GCC's programs for it begin.
    gcc: &'static str,
    /// QEMU's emulator of the machine, and the folder with its libraries.
    emulator: (&'static str, &'static str),
    /// Debian packages.
    packages: &'static [&'static str],
}

const TARGETS: [Target; 1] = [Target {
    name: "aarch64",
    triple: "aarch64-unknown-linux-gnu",
    gcc: "aarch64-linux-gnu",
    emulator: ("qemu-aarch64", "/usr/aarch64-linux-gnu"),
    packages: &["g++-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"],
}];

/// The target of this name.
pub(crate) fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

impl Target {
    pub(crate) fn install(&self) -> Outcome {
        Outcome::of(packages::install_these(self.packages))
    }

    /// Builds the program, and tries it with one that was built for this machine.
    pub(crate) fn step(&self, profile: &str) -> Outcome {
        if let Some(missing) = self.missing() {
            return Outcome::Skipped(missing);
        }
        let made = self.build(profile).and_then(|program| self.given(&program));
        made.map_or_else(Outcome::Failed, |program| self.tried(&program))
    }

    /// What is not installed, and how to install it.
    fn missing(&self) -> Option<String> {
        let compilers = ["gcc", "g++"].map(|tool| format!("{}-{tool}", self.gcc));
        let programs = compilers.iter().map(String::as_str).chain([self.emulator.0]);
        let mut missing: Vec<&str> = programs.filter(|program| !exists(program)).collect();
        if output(&mut command("rustup", &["target", "add", self.triple])).is_none() {
            missing.push("the compiler's target");
        }
        let how = format!("cargo xtask cross {} --install", self.name);
        (!missing.is_empty()).then(|| format!("NOT RUN: needs {}: {how}", missing.join(", ")))
    }

    /// The places of builds for other machines. All share them, so that no tool is compiled twice.
    fn places() -> Places {
        Places {
            root: root(),
            target: target_dir().join("cross"),
            cargo_home: cargo_home(),
        }
    }

    /// `arguments` for cargo, with this target's compilers, and without the names of this machine's folders.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = cargo(arguments);
        command.args(["--locked", "--target", self.triple]);
        Self::places().forget(&mut command, &[]);
        command.env(self.variable("LINKER"), format!("{}-gcc", self.gcc));
        command
    }

    /// The name of a variable that sets something of cargo for this target.
    fn variable(&self, what: &str) -> String {
        let triple = self.triple.replace('-', "_").to_uppercase();
        format!("CARGO_TARGET_{triple}_{what}")
    }

    fn build(&self, profile: &str) -> Result<PathBuf, String> {
        let mut build = self.cargo(&["build", "--package=sealcast", "--profile", profile]);
        run(&mut build)?;
        // Cargo's own word for the folder of this profile.
        let folder = if profile == "dev" { "debug" } else { profile };
        Ok(Self::places().target.join(self.triple).join(folder).join(deb::NAME))
    }

    /// Puts what a user is given into a folder: the program without symbols, licences, and the bill of materials.
    fn given(&self, program: &Path) -> Result<PathBuf, String> {
        let folder = Self::places().target.join(self.name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let given = folder.join(deb::NAME);
        let strip = [
            "--strip-all",
            "--remove-section=.comment",
            "--remove-section=.note.gnu.build-id",
        ];
        run(compilers_tool("rust-objcopy")?.args(strip).arg(program).arg(&given))?;
        let licences = deb::third_party(self.triple)?;
        let notices = folder.join("THIRD-PARTY");
        fs::write(&notices, licences).map_err(|error| format!("{}: {error}", notices.display()))?;
        let bill = sbom::Build {
            target: self.triple,
            together: &[deb::NAME],
        };
        sbom::write(&bill, &folder.join("sealcast.cdx.json"))?;
        Ok(given)
    }

    /// Streams between the program and one of this machine, over each carrier and in both directions.
    fn tried(&self, program: &Path) -> Outcome {
        let size = fs::metadata(program).map_or(0, |found| found.len());
        let made = format!("{}, {size} bytes", program.display());
        let inside = match emulated::prefix(self.emulator) {
            Ok(inside) => inside,
            Err(reason) => return Outcome::Skipped(format!("{made}; NOT TRIED: {reason}")),
        };
        let native = target_dir().join("debug").join(deb::NAME);
        let mut test = command(&inside[0], &[]);
        test.args(&inside[1..]).args(["sh", "packaging/test/foreign.sh"]);
        test.arg(&native).arg(program);
        // As the step `installed` builds it, so that nothing is compiled twice in a night.
        let built = run(&mut cargo(&["build", "--package=sealcast", "--locked"]));
        match built.and_then(|()| run(&mut test)) {
            Ok(()) => Outcome::Ok(made),
            Err(reason) => Outcome::Failed(reason),
        }
    }
}

/// A tool that comes with the compiler, and knows programs of all machines. It needs the compiler's libraries.
fn compilers_tool(name: &str) -> Result<Command, String> {
    let root = output(&mut command("rustc", &["--print", "sysroot"])).ok_or("`rustc --print sysroot` failed")?;
    let libraries = Path::new(root.trim()).join("lib");
    let tool = libraries.join("rustlib").join(sbom::host()?).join("bin").join(name);
    if !tool.is_file() {
        return Err(format!("there is no {}", tool.display()));
    }
    let mut tool = Command::new(tool);
    tool.env("LD_LIBRARY_PATH", libraries);
    Ok(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_installs_it() {
        let nowhere = Target {
            name: "nowhere",
            triple: "nowhere-unknown-linux-gnu",
            gcc: "nowhere-linux-gnu",
            emulator: ("qemu-nowhere", "/usr/nowhere"),
            packages: &[],
        };
        let missing = nowhere.missing().expect("all of it");
        for word in [
            "nowhere-linux-gnu-g++",
            "qemu-nowhere",
            "the compiler's target",
            "cross nowhere --install",
        ] {
            assert!(missing.contains(word), "{word}: {missing}");
        }
    }

    #[test]
    fn targets_are_found_by_name() {
        assert!(target("sparc").is_none());
        assert!(target("aarch64").is_some_and(|found| found.variable("LINKER").contains("_AARCH64_")));
    }
}
