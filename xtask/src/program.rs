//! A program as its users are given it: without symbols, with the licences of everything in it and a bill of materials.

use std::path::{Path, PathBuf};

use crate::cross::zig;
use crate::elf::{is_hardened, read_elf};
use crate::licences;
use crate::paths::compilers_tool;
use crate::sbom;
use crate::shell::run;

/// The program that users run, and its crate.
pub(crate) const NAME: &str = "sealcast";
/// The laboratory, and its crate.
pub(crate) const LAB: &str = "sealcast-lab";

/// A program that was built for users.
pub(crate) struct Program {
    /// Name of the program, and of the crate that it is built from.
    pub(crate) name: &'static str,
    pub(crate) file: PathBuf,
    /// The compiler's name of the machine and of the C library.
    pub(crate) triple: &'static str,
}

impl Program {
    /// The `sealcast` in a file, which says itself what it was built for.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let header = read_elf(&["--file-header", "--segments"], file)?;
        let machine = header.lines().find_map(|line| line.trim().strip_prefix("Machine:"));
        let needs_libraries = header.contains("INTERP");
        let triple = match (machine.map(str::trim), needs_libraries) {
            (Some("Advanced Micro Devices X86-64"), true) => "x86_64-unknown-linux-gnu",
            (Some("Advanced Micro Devices X86-64"), false) => "x86_64-unknown-linux-musl",
            (Some("AArch64"), true) => "aarch64-unknown-linux-gnu",
            (Some("AArch64"), false) => "aarch64-unknown-linux-musl",
            (other, _) => {
                let shown = file.display();
                return Err(format!("{shown} is for {other:?}, for which there is no package"));
            }
        };
        Ok(Self {
            name: NAME,
            file: file.to_owned(),
            triple,
        })
    }

    /// True if it needs no other file.
    pub(crate) fn is_static(&self) -> bool {
        self.triple.ends_with("-musl")
    }

    /// Debian's and the containers' name of the machine.
    pub(crate) fn architecture(&self) -> Result<&'static str, String> {
        match self.triple.split('-').next() {
            Some("x86_64") => Ok("amd64"),
            Some("aarch64") => Ok("arm64"),
            _ => Err(format!("there is no package for {}", self.triple)),
        }
    }

    /// Writes the program without symbols, line numbers and what the linker noted: these are for developers, and some
    /// name folders of this machine.
    pub(crate) fn strip_to(&self, to: &Path) -> Result<(), String> {
        let options = [
            "--strip-all",
            "--remove-section=.comment",
            "--remove-section=.note.gnu.build-id",
        ];
        run(compilers_tool("rust-objcopy")?.args(options).arg(&self.file).arg(to))?;
        is_hardened(to)
    }

    /// Licences of everything in the program, which go wherever it goes.
    pub(crate) fn licences(&self) -> Result<String, String> {
        let mut licences = licences::third_party(&self.build())?;
        if self.is_static() {
            licences.push_str(&zig::licences()?);
        }
        Ok(licences)
    }

    /// The bill of materials as text.
    pub(crate) fn bill(&self) -> Result<String, String> {
        sbom::text(&self.build())
    }

    fn build(&self) -> sbom::Build<'_> {
        sbom::Build {
            program: self.name,
            target: self.triple,
            together: std::slice::from_ref(&self.name),
        }
    }
}

/// The program's name beside a machine's: `sealcast for aarch64-unknown-linux-musl`.
impl std::fmt::Display for Program {
    fn fmt(&self, shown: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(shown, "{} for {}", self.name, self.triple)
    }
}
