//! The folder of a release, and the files in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::scratch::Scratch;
use crate::cross::zig;
use crate::deb;
use crate::image;
use crate::program::{LAB, NAME, Program};
use crate::shell::{command, output, run, write};

/// Names of the checksums, of their signature, and of what says whose key that is.
pub(super) const SUMS: &str = "SHA256SUMS";
const SIGNATURE: &str = "SHA256SUMS.sig";
const SIGNERS: &str = "sealcast.signers";
/// The purpose that a signature is for: one that the same key made for another is not taken.
const NAMESPACE: &str = "sealcast-release";
const ORIGIN: &str = "BUILT-FROM.txt";
/// Files of the repository beside each program, and beside that for users.
const BESIDE: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
const FOR_USERS: [&str; 5] = [
    "README.md",
    "packaging/man",
    "packaging/completions",
    "packaging/examples",
    "docs/sealcast.example.toml",
];
const FOR_THE_LAB: [&str; 1] = ["docs/lab.md"];

/// The parts of a path's name that tell one program of a release from another.
pub(super) fn stem(name: &str, triple: &str) -> String {
    let machine = triple.split('-').next().unwrap_or_default();
    format!("{name}-{}-{machine}-linux", env!("CARGO_PKG_VERSION"))
}

pub(super) struct Folder(PathBuf);

impl Folder {
    /// An empty folder.
    pub(super) fn new(path: &Path) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        let _ = fs::remove_dir_all(path);
        fs::create_dir_all(path).map_err(told)?;
        Ok(Self(path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Names and sizes of all files.
    pub(super) fn shown(&self) -> String {
        let files = self.names().unwrap_or_default();
        let size = |name: &String| fs::metadata(self.0.join(name)).map_or(0, |found| found.len());
        let lines = files.iter().map(|name| format!("{name} {} bytes", size(name)));
        format!("{}: {}", self.0.display(), lines.collect::<Vec<_>>().join(", "))
    }

    /// Adds the archive of a program, and its bill of materials beside it for those who look before they unpack.
    pub(super) fn add_archive(&self, program: &Program) -> Result<(), String> {
        let stem = stem(program.name, program.triple);
        let scratch = Scratch::new("archive")?;
        let inside = scratch.path().join(&stem);
        fs::create_dir_all(&inside).map_err(|error| format!("{}: {error}", inside.display()))?;
        program.strip_to(&inside.join(program.name))?;
        let bill = program.bill()?;
        write(&bill, &inside.join("sealcast.cdx.json"))?;
        write(&bill, &self.0.join(format!("{stem}.cdx.json")))?;
        write(&program.licences()?, &inside.join("THIRD-PARTY"))?;
        let more: &[&str] = if program.name == LAB { &FOR_THE_LAB } else { &FOR_USERS };
        for file in BESIDE.iter().chain(more) {
            run(command("cp", &["--recursive", file]).arg(&inside))?;
        }
        pack(scratch.path(), &[&stem], &self.0.join(format!("{stem}.tar.gz")))
    }

    /// Adds the image of a static program, in the format of the Open Container Initiative.
    pub(super) fn add_container(&self, program: &Program) -> Result<(), String> {
        let image = image::made(program)?;
        let scratch = Scratch::new("container")?;
        let saved = scratch.path().join("image");
        let mut save = command(image::PODMAN, &["save", "--quiet", "--format=oci-dir", "--output"]);
        run(save.arg(&saved).arg(&image))?;
        let name = self.container(program.architecture()?);
        // Podman's own archive has the time at which it was made.
        pack(&saved, &["blobs", "index.json", "oci-layout"], &name)
    }

    pub(super) fn container(&self, architecture: &str) -> PathBuf {
        let version = env!("CARGO_PKG_VERSION");
        self.0.join(format!("{NAME}-{version}-container-{architecture}.tar.gz"))
    }

    /// Adds the commit and the compilers, with which anybody makes the same files.
    pub(super) fn add_origin(&self, profile: &str) -> Result<(), String> {
        let said = |program: &str, arguments: &[&str]| {
            let said = output(&mut command(program, arguments));
            let line = said.as_deref().and_then(|said| said.lines().next().map(str::to_owned));
            line.ok_or_else(|| format!("`{program} {}` failed", arguments.join(" ")))
        };
        let tools = [
            ("commit", said("git", &["rev-parse", "HEAD"])?),
            ("profile", profile.to_owned()),
            ("rustc", said("rustc", &["--version"])?),
            ("zig", zig::version()?),
            ("gcc", said("x86_64-linux-gnu-gcc", &["--version"])?),
            ("gcc for aarch64", said("aarch64-linux-gnu-gcc", &["--version"])?),
            ("nasm", said("nasm", &["--version"])?),
            ("podman", said(image::PODMAN, &["--version"])?),
        ];
        let lines: String = tools.iter().map(|(name, said)| format!("{name}: {said}\n")).collect();
        let text = format!(
            "sealcast {}\n{lines}\nThe same commit and tools make the same files: cargo xtask release\n",
            env!("CARGO_PKG_VERSION")
        );
        write(&text, &self.0.join(ORIGIN))
    }

    /// Adds the checksums of all files there are.
    pub(super) fn add_sums(&self) -> Result<(), String> {
        let mut command = Command::new("sha256sum");
        let said = output(command.current_dir(&self.0).args(self.names()?));
        write(&said.ok_or("`sha256sum` failed")?, &self.0.join(SUMS))
    }

    /// Signs the checksums with a key of SSH, which may be in an agent or on a token.
    pub(super) fn sign(&self, key: &Path) -> Result<(), String> {
        let signature = self.0.join(SIGNATURE);
        let _ = fs::remove_file(&signature);
        let mut sign = command("ssh-keygen", &["-Y", "sign", "-n", NAMESPACE, "-f"]);
        run(sign.arg(key).arg(self.0.join(SUMS)))?;
        let mut public = command("ssh-keygen", &["-y", "-f"]);
        let public = output(public.arg(key)).ok_or_else(|| format!("{} is no key of SSH", key.display()))?;
        // Type and key, without the comment, which may name a person or a machine.
        let words: Vec<&str> = public.split_whitespace().take(2).collect();
        let line = format!("{NAME} namespaces=\"{NAMESPACE}\" {}\n", words.join(" "));
        write(&line, &self.0.join(SIGNERS))
    }

    /// All files but those about the others.
    fn names(&self) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(&self.0).map_err(|error| format!("{}: {error}", self.0.display()))?;
        let names = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names
            .filter(|name| ![SUMS, SIGNATURE, SIGNERS].contains(&name.as_str()))
            .collect();
        names.sort();
        Ok(names)
    }
}

/// Packs these entries of `folder`: the same content makes the same bytes, whoever packs it and when.
fn pack(folder: &Path, entries: &[&str], to: &Path) -> Result<(), String> {
    let time = format!("--mtime=@{}", deb::Entry::newest()?.time);
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--format=gnu",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]);
    tar.args(["--mode=u=rwX,go=rX", &time, "--use-compress-program=gzip -9n", "--file"]);
    run(tar.arg(to).arg("--directory").arg(folder).args(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    /// The commands of the first block under a heading of docs/install.md.
    fn commands(heading: &str) -> String {
        let text = fs::read_to_string(root().join("docs/install.md")).unwrap();
        let section = text.split_once(&format!("## {heading}\n")).expect("the heading").1;
        section.split("```").nth(1).expect("a block").trim().to_owned()
    }

    /// A release with one archive, whose program is a script that says it runs, signed by a key made for it.
    fn release(name: &str) -> (Scratch, Folder) {
        let scratch = Scratch::new(name).unwrap();
        let stem = stem(NAME, "x86_64-unknown-linux-musl");
        let program = scratch.path().join(&stem).join(NAME);
        write("#!/bin/sh\necho \"it runs: $*\"\n", &program).unwrap();
        run(Command::new("chmod").arg("755").arg(&program)).unwrap();
        let folder = Folder::new(&scratch.path().join("files")).unwrap();
        pack(scratch.path(), &[&stem], &folder.path().join(format!("{stem}.tar.gz"))).unwrap();
        // A file that the user does not download.
        write("another\n", &folder.path().join("sealcast-0.1.0-aarch64-linux.tar.gz")).unwrap();
        folder.add_sums().unwrap();
        folder.sign(&key(scratch.path(), "key")).unwrap();
        fs::remove_file(folder.path().join("sealcast-0.1.0-aarch64-linux.tar.gz")).unwrap();
        (scratch, folder)
    }

    fn key(folder: &Path, name: &str) -> PathBuf {
        let key = folder.join(name);
        let make = ["-q", "-t", "ed25519", "-N", "", "-C", "somebody@somewhere", "-f"];
        run(Command::new("ssh-keygen").args(make).arg(&key)).unwrap();
        key
    }

    fn follow(folder: &Folder) -> Option<String> {
        let script = commands("Download, check, run");
        output(
            Command::new("sh")
                .args(["-e", "-c", &script])
                .current_dir(folder.path()),
        )
    }

    #[test]
    fn what_was_downloaded_is_checked_and_run_as_the_document_says() {
        let (_scratch, folder) = release("checked");
        let said = follow(&folder).expect("a good release is taken");
        assert!(said.contains("it runs: demo"), "{said}");
        let signers = fs::read_to_string(folder.path().join(SIGNERS)).unwrap();
        assert!(!signers.contains("somebody"), "{signers}");
    }

    #[test]
    fn a_changed_file_changed_sums_and_another_key_are_refused() {
        type Change = fn(&Folder, &Path);
        let changes: [(&str, Change); 5] = [
            ("a byte of the archive", |folder, _| {
                flip(&folder.path().join("sealcast-0.1.0-x86_64-linux.tar.gz"))
            }),
            ("a byte of the sums", |folder, _| flip(&folder.path().join(SUMS))),
            ("no signature", |folder, _| {
                fs::remove_file(folder.path().join(SIGNATURE)).unwrap()
            }),
            ("the sums signed by another key", |folder, scratch| {
                let signers = fs::read(folder.path().join(SIGNERS)).unwrap();
                folder.sign(&key(scratch, "another")).unwrap();
                fs::write(folder.path().join(SIGNERS), signers).unwrap();
            }),
            ("signed for another purpose", |folder, scratch| {
                fs::remove_file(folder.path().join(SIGNATURE)).unwrap();
                let sign = ["-Y", "sign", "-n", "file", "-f"];
                let mut sign_it = command("ssh-keygen", &sign);
                run(sign_it.arg(scratch.join("key")).arg(folder.path().join(SUMS))).unwrap();
            }),
        ];
        for (at, (what, change)) in changes.into_iter().enumerate() {
            let (scratch, folder) = release(&format!("changed-{at}"));
            change(&folder, scratch.path());
            assert_eq!(follow(&folder), None, "{what}");
        }
    }

    fn flip(file: &Path) {
        let mut bytes = fs::read(file).unwrap();
        bytes[20] ^= 1;
        fs::write(file, bytes).unwrap();
    }

    #[test]
    fn two_archives_of_the_same_content_are_equal() {
        let archives = ["one", "two"].map(|name| {
            let scratch = Scratch::new(name).unwrap();
            for file in ["b", "a", "c/d"] {
                write(file, &scratch.path().join("x").join(file)).unwrap();
            }
            let to = scratch.path().join("x.tar.gz");
            pack(scratch.path(), &["x"], &to).unwrap();
            fs::read(to).unwrap()
        });
        assert_eq!(archives[0], archives[1]);
    }
}
