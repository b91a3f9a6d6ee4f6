//! Flags that keep the folders of a machine out of the program, so that everybody's build has the same bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::elf::is_hardened;
use crate::shell::{command, compilers_target, output, run};

/// The places that a build sees, and the names that they get.
pub(crate) struct Places {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) cargo_home: PathBuf,
}

impl Places {
    /// All in one folder.
    pub(crate) fn within(folder: &Path) -> Self {
        Self {
            root: folder.join("sources"),
            target: folder.join("target"),
            cargo_home: folder.join("cargo-home"),
        }
    }

    /// Later rules win, in rustc and in C compilers alike; so what lies inside another place comes after it.
    fn names(&self) -> [(&Path, &'static str); 3] {
        [
            (&self.cargo_home, "/cargo"),
            (&self.root, "/sealcast"),
            (&self.target, "/target"),
        ]
    }

    /// Makes the build forget its places. `flags` are those of the compiler that it has besides.
    pub(crate) fn forget(&self, command: &mut Command, flags: &[String]) {
        let mut rust = flags.to_vec();
        let mut c = Vec::new();
        for (place, name) in self.names() {
            rust.push(format!("--remap-path-prefix={}={name}", place.display()));
            c.push(format!("-ffile-prefix-map={}={name}", place.display()));
        }
        // Flags are separated by a character that no path has; a space may stand in one.
        let rust = rust.join("\u{1f}");
        command.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", rust);
        for name in ["CFLAGS", "CXXFLAGS"] {
            command.env(name, c.join(" "));
        }
        command
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0");
    }
}

/// Takes the names of assembly files out of a program's symbols: nasm writes whole paths, and has no option for that.
/// The linker's build id is a hash of the program with those names, so it goes, too.
pub(crate) fn forget_assembly(program: &Path) -> Result<(), String> {
    run(compilers_tool("rust-objcopy")?
        .args([
            "--wildcard",
            "--strip-symbol=*.asm",
            "--remove-section=.note.gnu.build-id",
        ])
        .arg(program))?;
    is_hardened(program)
}

/// A tool that comes with the compiler, and knows programs of all machines. It needs the compiler's libraries.
pub(crate) fn compilers_tool(name: &str) -> Result<Command, String> {
    let root = output(&mut command("rustc", &["--print", "sysroot"])).ok_or("`rustc --print sysroot` failed")?;
    let libraries = Path::new(root.trim()).join("lib");
    let tool = libraries
        .join("rustlib")
        .join(compilers_target()?)
        .join("bin")
        .join(name);
    if !tool.is_file() {
        return Err(format!("there is no {}", tool.display()));
    }
    let mut tool = Command::new(tool);
    tool.env("LD_LIBRARY_PATH", libraries);
    Ok(tool)
}

/// Cargo's own folder, which holds the sources of dependencies.
pub(crate) fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// The first texts in a program that hold one of these words, for saying what it remembers.
pub(crate) fn remembered(program: &Path, words: &[&str]) -> Vec<String> {
    let bytes = std::fs::read(program).unwrap_or_default();
    let texts = bytes
        .split(|byte| !(0x20..0x7f).contains(byte))
        .filter(|text| text.len() >= 6);
    let texts = texts.map(|text| String::from_utf8_lossy(text).into_owned());
    let mut found: Vec<String> = texts
        .filter(|text| words.iter().any(|word| text.contains(word)))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Files that git knows or would know, relative to the root.
pub(crate) fn sources(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let said = output(&mut git).ok_or("`git ls-files` failed: the step copies what git lists")?;
    Ok(said
        .lines()
        .map(PathBuf::from)
        .filter(|path| root.join(path).is_file())
        .collect())
}
