//! The files of the package, where they will be on a machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Program;
use crate::shell::{output, root};

const DOC: &str = "usr/share/doc/sealcast";
const UNITS: &str = "usr/lib/systemd/system";

/// Files of the repository, or folders of them, and where they go. What ends with `.gz` is compressed.
const FILES: [(&str, &str); 15] = [
    ("packaging/systemd", UNITS),
    ("packaging/sysusers.d/sealcast.conf", "usr/lib/sysusers.d/sealcast.conf"),
    ("packaging/tmpfiles.d/sealcast.conf", "usr/lib/tmpfiles.d/sealcast.conf"),
    ("packaging/etc/publish", "etc/sealcast/publish"),
    (
        "packaging/completions/sealcast.bash",
        "usr/share/bash-completion/completions/sealcast",
    ),
    (
        "packaging/completions/_sealcast",
        "usr/share/zsh/vendor-completions/_sealcast",
    ),
    (
        "packaging/completions/sealcast.fish",
        "usr/share/fish/vendor_completions.d/sealcast.fish",
    ),
    ("packaging/examples", "usr/share/doc/sealcast/examples"),
    ("packaging/prometheus", "usr/share/doc/sealcast/examples/prometheus"),
    ("packaging/grafana", "usr/share/doc/sealcast/examples/grafana"),
    ("packaging/debian/copyright", "usr/share/doc/sealcast/copyright"),
    (
        "packaging/debian/changelog",
        "usr/share/doc/sealcast/changelog.Debian.gz",
    ),
    (
        "packaging/debian/lintian-overrides",
        "usr/share/lintian/overrides/sealcast",
    ),
    ("CHANGELOG.md", "usr/share/doc/sealcast/changelog.gz"),
    (
        "docs/sealcast.example.toml",
        "usr/share/doc/sealcast/examples/sealcast.toml",
    ),
];

/// Documents for users, compressed as Debian wants what is long.
const DOCUMENTS: [&str; 3] = ["README.md", "SECURITY.md", "docs"];

pub(super) struct Tree {
    pub(super) root: PathBuf,
}

impl Tree {
    /// An empty tree.
    pub(super) fn new(root: PathBuf) -> Result<Self, String> {
        let _ = fs::remove_dir_all(&root);
        let tree = Self { root };
        make_folder(&tree.root.join("DEBIAN"))?;
        Ok(tree)
    }

    pub(super) fn fill(&self, program: &Program) -> Result<(), String> {
        let place = "usr/bin/sealcast";
        self.put(&program.file, place, 0o755)?;
        program.strip_to(&self.root.join(place))?;
        for (from, to) in FILES {
            self.copy(from, to)?;
        }
        for page in files(&root().join("packaging/man"))? {
            let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let section = name.rsplit('.').next().unwrap_or("1").to_owned();
            let text = fs::read(&page).map_err(|error| format!("{}: {error}", page.display()))?;
            self.compressed(&format!("usr/share/man/man{section}/{name}.gz"), &text)?;
        }
        for document in DOCUMENTS {
            let from = root().join(document);
            for file in if from.is_dir() { files(&from)? } else { vec![from] } {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if name.ends_with(".md") {
                    let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
                    let folder = if document == "docs" { "docs/" } else { "" };
                    self.compressed(&format!("{DOC}/{folder}{name}.gz"), &text)?;
                }
            }
        }
        self.compressed(&format!("{DOC}/THIRD-PARTY.gz"), program.licences()?.as_bytes())?;
        self.compressed(&format!("{DOC}/sealcast.cdx.json.gz"), program.bill()?.as_bytes())
    }

    fn copy(&self, from: &str, to: &str) -> Result<(), String> {
        let source = root().join(from);
        let paths = match source.is_dir() {
            true => files(&source)?,
            false => vec![source.clone()],
        };
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let place = if source.is_dir() {
                format!("{to}/{name}")
            } else {
                to.to_owned()
            };
            if place.ends_with(".gz") {
                let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                self.compressed(&place, &text)?;
            } else {
                self.put(&path, &place, 0o644)?;
            }
        }
        Ok(())
    }

    /// A script of the repository.
    pub(super) fn program(&self, from: &str, to: &str) -> Result<(), String> {
        self.put(&root().join(from), to, 0o755)
    }

    fn put(&self, from: &Path, to: &str, mode: u32) -> Result<(), String> {
        let bytes = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
        self.place(to, &bytes, mode)
    }

    pub(super) fn write(&self, to: &str, text: &str) -> Result<(), String> {
        self.place(to, text.as_bytes(), 0o644)
    }

    fn place(&self, to: &str, bytes: &[u8], mode: u32) -> Result<(), String> {
        let path = self.root.join(to);
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        make_folder(path.parent().unwrap_or(&self.root))?;
        fs::write(&path, bytes).map_err(told)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(told)
    }

    fn compressed(&self, to: &str, bytes: &[u8]) -> Result<(), String> {
        let plain = to.strip_suffix(".gz").unwrap_or(to);
        self.place(plain, bytes, 0o644)?;
        // No name and no time within: the same text makes the same bytes.
        run_quietly(Command::new("gzip").args(["-9n", "--force"]).arg(self.root.join(plain)))
    }

    /// Kilobytes of all files, each as a whole number of them.
    pub(super) fn size(&self) -> Result<u64, String> {
        Ok(self
            .paths()?
            .iter()
            .map(|path| fs::metadata(path).map_or(1, |found| found.len().div_ceil(1024)))
            .sum())
    }

    /// Files that stay as the administrator changed them.
    pub(super) fn configuration_files(&self) -> Result<String, String> {
        let places = self.paths()?.into_iter().filter_map(|path| {
            let place = path.strip_prefix(&self.root).ok()?;
            place.starts_with("etc").then(|| format!("/{}\n", place.display()))
        });
        Ok(places.collect())
    }

    pub(super) fn sums(&self) -> Result<String, String> {
        let paths = self.paths()?;
        let places = paths.iter().filter_map(|path| path.strip_prefix(&self.root).ok());
        let places = places.filter(|place| !place.starts_with("etc"));
        output(Command::new("md5sum").current_dir(&self.root).args(places)).ok_or_else(|| "`md5sum` failed".to_owned())
    }

    /// Every file but those of `DEBIAN`, in order.
    fn paths(&self) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        let mut folders: Vec<PathBuf> = ["etc", "usr"].iter().map(|name| self.root.join(name)).collect();
        while let Some(folder) = folders.pop() {
            for path in entries(&folder)? {
                if path.is_dir() { &mut folders } else { &mut found }.push(path);
            }
        }
        found.sort();
        Ok(found)
    }
}

/// With mode 0755, whatever this user's mask is.
fn make_folder(folder: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    for above in folder
        .ancestors()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .filter(|above| !above.exists())
    {
        fs::create_dir(above).map_err(told)?;
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).map_err(told)?;
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The files of a folder, without its folders.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_file()).collect())
}

fn run_quietly(command: &mut Command) -> Result<(), String> {
    output(command).map(drop).ok_or_else(|| format!("{command:?} failed"))
}
