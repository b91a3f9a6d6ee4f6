//! The program for other machines than this one: for Arm with Debian's cross compilers, and as one static file.

mod emulated;
mod suite;
pub(crate) mod zig;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::elf::read_elf;
use crate::packages;
use crate::paths::{Places, cargo_home};
use crate::program::{NAME, Program};
use crate::shell::{cargo, command, compilers_target, exists, output, root, run, target_dir, write};
use crate::summary::Outcome;

pub(crate) use suite::step as suite;

/// The profile of what users are given; another is for trying.
pub(crate) const PROFILE: &str = "dist";

/// A kind of machine, and what builds and runs programs for it here.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Name of the step that builds it.
    pub(crate) step: &'static str,
    pub(crate) triple: &'static str,
    compiler: Compiler,
    /// QEMU's emulator of the machine, and the folder with its libraries.
    emulator: (&'static str, &'static str),
    /// Debian packages.
    packages: &'static [&'static str],
}

/// Compiler and linker of C and C++.
#[derive(Clone, Copy)]
enum Compiler {
    /// GCC, whose programs have names that begin so. What it builds needs libraries as new as Debian's.
    Gcc(&'static str),
    /// Zig. What it builds needs no library.
    Zig,
}

const TARGETS: [Target; 5] = [
    Target {
        name: "x86_64",
        step: "cross x86_64",
        triple: "x86_64-unknown-linux-gnu",
        compiler: Compiler::Gcc("x86_64-linux-gnu"),
        emulator: ("qemu-x86_64", "/usr/x86_64-linux-gnu"),
        packages: &["g++-x86-64-linux-gnu", "nasm"],
    },
    Target {
        name: "aarch64",
        step: "cross",
        triple: "aarch64-unknown-linux-gnu",
        compiler: Compiler::Gcc("aarch64-linux-gnu"),
        emulator: ("qemu-aarch64", "/usr/aarch64-linux-gnu"),
        packages: &["g++-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"],
    },
    Target {
        name: "armv7",
        step: "cross armv7",
        triple: "armv7-unknown-linux-gnueabihf",
        compiler: Compiler::Gcc("arm-linux-gnueabihf"),
        emulator: ("qemu-arm", "/usr/arm-linux-gnueabihf"),
        packages: &["g++-arm-linux-gnueabihf", "libc6-dev-armhf-cross", "qemu-user"],
    },
    Target {
        name: "static-x86_64",
        step: "static",
        triple: "x86_64-unknown-linux-musl",
        compiler: Compiler::Zig,
        emulator: ("qemu-x86_64", "/"),
        packages: &["python3-venv", "nasm"],
    },
    Target {
        name: "static-aarch64",
        step: "static arm",
        triple: "aarch64-unknown-linux-musl",
        compiler: Compiler::Zig,
        emulator: ("qemu-aarch64", "/"),
        packages: &["python3-venv", "qemu-user"],
    },
];

/// The target of this name.
pub(crate) fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// The target of the compiler's name.
pub(crate) fn of_triple(triple: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.triple == triple)
}

/// The target whose programs are this machine's, with its libraries.
pub(crate) fn host() -> Result<&'static Target, String> {
    let triple = compilers_target()?;
    let found = of_triple(&triple);
    found.ok_or_else(|| format!("there is no package for {triple}: `cargo install` builds the program for it"))
}

/// The program in `file`, or one that is built for this machine.
pub(crate) fn given_or_built(file: Option<&Path>) -> Result<Program, String> {
    match file {
        Some(file) => Program::read(file),
        None => host()?.build(NAME, PROFILE),
    }
}

impl Target {
    pub(crate) fn install(&self) -> Outcome {
        let compiler = || match self.compiler {
            Compiler::Gcc(_) => Ok(()),
            Compiler::Zig => zig::install(),
        };
        Outcome::of(packages::install_these(self.packages).and_then(|()| compiler()))
    }

    /// Builds the program, and tries it with one that was built for this machine.
    pub(crate) fn step(&self, profile: &str) -> Outcome {
        if let Some(missing) = self.missing() {
            return Outcome::Skipped(missing);
        }
        let made = self.build(NAME, profile).and_then(|program| self.given(&program));
        made.map_or_else(Outcome::Failed, |program| self.tried(&program))
    }

    /// Says what is not installed, and how to install it.
    pub(crate) fn missing(&self) -> Option<String> {
        let compilers = match self.compiler {
            Compiler::Gcc(prefix) => ["gcc", "g++"].map(|tool| format!("{prefix}-{tool}")).to_vec(),
            Compiler::Zig => Vec::new(),
        };
        let emulator = (!self.is_native()).then_some(self.emulator.0);
        let programs = compilers.iter().map(String::as_str).chain(emulator);
        let mut missing: Vec<&str> = programs.filter(|program| !exists(program)).collect();
        if matches!(self.compiler, Compiler::Zig) && !zig::is_there() {
            missing.push("zig");
        }
        if output(&mut command("rustup", &["target", "add", self.triple])).is_none() {
            missing.push("the compiler's target");
        }
        let how = format!("cargo xtask cross {} --install", self.name);
        (!missing.is_empty()).then(|| format!("NOT RUN: needs {}: {how}", missing.join(", ")))
    }

    /// True if this machine runs its programs itself.
    pub(crate) fn is_native(&self) -> bool {
        cfg!(target_os = "linux") && self.triple.split('-').next() == Some(std::env::consts::ARCH)
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
        let mut command = match self.compiler {
            Compiler::Gcc(_) => cargo(arguments),
            Compiler::Zig => zig::cargo(arguments),
        };
        command.args(["--locked", "--target", self.triple]);
        Self::places().forget(&mut command, &[]);
        if let Compiler::Gcc(prefix) = self.compiler {
            command.env(self.variable("LINKER"), format!("{prefix}-gcc"));
        }
        command
    }

    /// The name of a variable that sets something of cargo for this target.
    fn variable(&self, what: &str) -> String {
        let triple = self.triple.replace('-', "_").to_uppercase();
        format!("CARGO_TARGET_{triple}_{what}")
    }

    /// Builds one of the programs for users.
    pub(crate) fn build(&self, name: &'static str, profile: &str) -> Result<Program, String> {
        let mut build = self.cargo(&["build", "--package", name, "--bin", name, "--profile", profile]);
        if matches!(self.compiler, Compiler::Zig) {
            build.args(zig::LINKING);
        }
        run(&mut build)?;
        // Cargo's own word for the folder of this profile.
        let folder = if profile == "dev" { "debug" } else { profile };
        let program = Self::places().target.join(self.triple).join(folder).join(name);
        if matches!(self.compiler, Compiler::Zig) {
            is_alone(&program)?;
        }
        Ok(Program {
            name,
            file: program,
            triple: self.triple,
        })
    }

    /// Puts what a user is given into a folder: the program without symbols, licences, and the bill of materials.
    fn given(&self, program: &Program) -> Result<PathBuf, String> {
        let folder = Self::places().target.join(self.name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let given = folder.join(program.name);
        program.strip_to(&given)?;
        write(&program.licences()?, &folder.join("THIRD-PARTY"))?;
        write(&program.bill()?, &folder.join("sealcast.cdx.json"))?;
        Ok(given)
    }

    /// Words before a command within which the target's programs start.
    pub(crate) fn prefix(&self) -> Result<Vec<String>, String> {
        match self.is_native() {
            true => Ok(Vec::new()),
            false => emulated::prefix(self.emulator),
        }
    }

    /// Streams between the program and one of this machine, over each carrier and in both directions; a static program
    /// also where nothing else is.
    pub(crate) fn tried(&self, program: &Path) -> Outcome {
        let size = fs::metadata(program).map_or(0, |found| found.len());
        let made = format!("{}, {size} bytes", program.display());
        let mut words = match self.prefix() {
            Ok(prefix) => prefix,
            Err(reason) => return Outcome::Skipped(format!("{made}; NOT TRIED: {reason}")),
        };
        words.extend(["sh", "packaging/test/foreign.sh"].map(str::to_owned));
        let mut test = command(&words[0], &[]);
        let native = target_dir().join("debug").join(NAME);
        test.args(&words[1..]).arg(&native).arg(program);
        // As the step `installed` builds it, so that nothing is compiled twice in a night.
        let built = run(&mut cargo(&["build", "--package=sealcast", "--locked"]));
        let alone = || match (self.compiler, self.is_native()) {
            (Compiler::Zig, true) => run(command("sh", &["packaging/test/alone.sh"]).arg(program)),
            _ => Ok(()),
        };
        match built.and_then(|()| run(&mut test)).and_then(|()| alone()) {
            Ok(()) => Outcome::Ok(made),
            Err(reason) => Outcome::Failed(reason),
        }
    }
}

/// Checks that a program needs no other file to start, and can lie anywhere in memory.
fn is_alone(program: &Path) -> Result<(), String> {
    let said = read_elf(&["--file-header", "--segments", "--dynamic"], program)?;
    let needs = |line: &&str| line.contains("INTERP") || line.contains("(NEEDED)");
    if let Some(line) = said.lines().find(needs) {
        return Err(format!("{} is not static: {}", program.display(), line.trim()));
    }
    match said.contains("DYN (Position-Independent Executable file)") {
        true => Ok(()),
        false => Err(format!(
            "{} lies at the same place in memory at each start",
            program.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_installs_it() {
        let nowhere = Target {
            name: "nowhere",
            step: "nowhere",
            triple: "nowhere-unknown-linux-gnu",
            compiler: Compiler::Gcc("nowhere-linux-gnu"),
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

    #[test]
    fn a_program_runs_without_an_emulator_on_its_own_kind_of_machine() {
        for (name, arch) in [
            ("aarch64", "aarch64"),
            ("armv7", "arm"),
            ("static-x86_64", "x86_64"),
            ("static-aarch64", "aarch64"),
        ] {
            let native = cfg!(target_os = "linux") && std::env::consts::ARCH == arch;
            assert!(target(name).is_some_and(|found| found.is_native() == native), "{name}");
        }
    }

    #[test]
    fn a_program_that_needs_libraries_is_not_static() {
        let refused = is_alone(Path::new("/bin/sh")).expect_err("it needs a C library");
        assert!(refused.contains("/bin/sh is not static"), "{refused}");
        let unreadable = is_alone(Path::new("/nonexistent")).expect_err("there is no such file");
        assert!(unreadable.contains("/nonexistent"), "{unreadable}");
    }
}
