//! Packages of the lock file, as cargo describes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::shell::{cargo, output};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize, Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) license: Option<String>,
    /// `None` for the project's own crates.
    pub(crate) source: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    /// The `Cargo.toml` in its folder.
    pub(crate) manifest_path: PathBuf,
    pub(crate) repository: Option<String>,
    /// An empty list for what is never published.
    publish: Option<Vec<String>>,
}

#[derive(Deserialize, Clone)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) req: String,
    pub(crate) path: Option<String>,
}

/// Name and version.
pub(crate) type Label = (String, String);

impl Package {
    pub(crate) fn is_private(&self) -> bool {
        self.publish.as_ref().is_some_and(Vec::is_empty)
    }

    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// The manifest of the program's workspace.
pub(crate) const WORKSPACE: &str = "Cargo.toml";

/// Every package of a workspace's lock file, whether anything uses it or not.
pub(crate) fn locked(manifest: &str) -> Result<BTreeMap<Label, Package>, String> {
    let arguments = [
        "metadata",
        "--format-version=1",
        "--locked",
        "--all-features",
        "--manifest-path",
        manifest,
    ];
    let said = output(&mut cargo(&arguments)).ok_or_else(|| {
        format!(
            "`cargo {}` failed: run it by hand to see why (is Cargo.lock up to date?)",
            arguments.join(" ")
        )
    })?;
    let metadata: Metadata =
        serde_json::from_str(&said).map_err(|error| format!("what `cargo metadata` said: {error}"))?;
    let label = |package: &Package| (package.name.clone(), package.version.clone());
    Ok(metadata
        .packages
        .into_iter()
        .map(|package| (label(&package), package))
        .collect())
}

/// A line of `cargo tree`, which resolves features as a build does; `cargo metadata` lists more than is used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// 0 for what was asked for.
    pub(crate) depth: usize,
    pub(crate) label: Label,
    /// A macro runs in the compiler and is not part of the program.
    pub(crate) is_macro: bool,
}

/// The tree of what these arguments select, each package as often as it is depended upon.
pub(crate) fn tree(arguments: &[&str]) -> Result<Vec<Branch>, String> {
    let mut command = cargo(&["tree", "--locked", "--prefix=depth", "--format={p}", "--no-dedupe"]);
    let said = output(command.args(arguments)).ok_or_else(|| {
        format!(
            "`cargo tree --locked {}` failed: run it by hand to see why",
            arguments.join(" ")
        )
    })?;
    said.lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .map(|line| branch(line).ok_or_else(|| format!("`cargo tree` said a line that is not understood: {line}")))
        .collect()
}

/// Reads a line such as `2serde_derive v1.0.229 (proc-macro)`.
fn branch(line: &str) -> Option<Branch> {
    let digits = line.find(|letter: char| !letter.is_ascii_digit())?;
    let (depth, rest) = line.split_at(digits);
    let mut words = rest.split(' ');
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    Some(Branch {
        depth: depth.parse().ok()?,
        label: (name, version),
        is_macro: words.any(|word| word == "(proc-macro)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_is_read() {
        let read = branch("12serde_derive v1.0.229 (proc-macro)").unwrap();
        assert_eq!((read.depth, read.is_macro), (12, true));
        assert_eq!(read.label, ("serde_derive".to_owned(), "1.0.229".to_owned()));
        let read = branch("0sealcast v0.1.0 (/some where)").unwrap();
        assert_eq!((read.depth, read.is_macro), (0, false));
        assert_eq!(branch("[dev-dependencies]"), None);
    }
}
