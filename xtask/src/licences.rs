//! The licences of everything in the program, with their texts: most ask that the notices go wherever the program goes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sbom::{self, Build};
use crate::shell::root;
use crate::web;

/// Names with which files of licences and notices begin.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];
/// Longest text of a licence, in bytes: what is longer is something else.
const MAX_TEXT: u64 = 256 << 10;

/// A library in the program.
struct Part {
    name: String,
    licence: String,
    /// Folder of its texts.
    folder: PathBuf,
}

/// All libraries, each with its licence, and then every text once.
pub(crate) fn third_party(build: &Build<'_>) -> Result<String, String> {
    let mut parts = crates(build)?;
    parts.extend(page()?);
    let mut users: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut list = String::new();
    for part in &parts {
        let texts = texts(&part.folder)?;
        let none = if texts.is_empty() {
            ", no text comes with it"
        } else {
            ""
        };
        list.push_str(&format!("{}: {}{none}\n", part.name, part.licence));
        for text in texts {
            users.entry(text).or_default().push(&part.name);
        }
    }
    let mut all = format!("Libraries in the program and its page, with their licences:\n\n{list}");
    for (text, users) in users {
        all.push_str(&format!("\n{}\nOf {}:\n\n{}\n", "=".repeat(80), users.join(", "), text));
    }
    Ok(all)
}

fn crates(build: &Build<'_>) -> Result<Vec<Part>, String> {
    let packages = sbom::in_the_program(build)?;
    let mut parts = Vec::new();
    for package in packages.iter().filter(|package| package.source.is_some()) {
        let folder = package.manifest_path.parent().unwrap_or(Path::new(".")).to_owned();
        parts.push(Part {
            name: package.label(),
            licence: package.license.clone().unwrap_or_else(|| "its own licence".to_owned()),
            folder,
        });
    }
    Ok(parts)
}

/// The libraries in the page, which the lock file of `web` lists.
fn page() -> Result<Vec<Part>, String> {
    web::bring_packages()?;
    let lock = root().join("web/package-lock.json");
    let text = fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    let lock: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", lock.display()))?;
    let packages = lock["packages"]
        .as_object()
        .ok_or("web/package-lock.json lists no packages")?;
    let mut parts = Vec::new();
    for (place, package) in packages {
        let left_out = ["dev", "peer", "optional"].iter().any(|key| package[key] == true);
        let Some(name) = place.strip_prefix("node_modules/").filter(|_| !left_out) else {
            continue;
        };
        let folder = root().join("web").join(place);
        if !folder.is_dir() {
            return Err(format!("{} is not there: `npm ci` in web/ brings it", folder.display()));
        }
        let word = |key: &str| package[key].as_str().unwrap_or("?").to_owned();
        parts.push(Part {
            name: format!("{name} {} (npm)", word("version")),
            licence: word("license"),
            folder,
        });
    }
    Ok(parts)
}

/// Texts in a crate's folder, and in those of what it brings along (`aws-lc/LICENSE`).
fn texts(folder: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for place in [folder.to_owned(), folder.join("aws-lc"), folder.join("upstream")] {
        let Ok(entries) = fs::read_dir(&place) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files.iter().filter(|file| is_licence(file)) {
            let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            found.push(String::from_utf8_lossy(&bytes).trim().to_owned());
        }
    }
    Ok(found)
}

fn is_licence(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let short = file
        .metadata()
        .is_ok_and(|found| found.is_file() && found.len() <= MAX_TEXT);
    short && NAMES.iter().any(|begin| name.starts_with(begin)) && !name.ends_with(".RS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_is_named_with_a_licence_and_the_vendored_ones_with_their_texts() {
        let build = Build {
            program: "sealcast",
            target: &crate::shell::compilers_target().unwrap(),
            together: &["sealcast"],
        };
        let parts = crates(&build).unwrap();
        assert!(parts.len() > 100, "{}", parts.len());
        assert!(!parts.iter().any(|part| part.name.starts_with("sealcast")));
        let of = |name: &str| parts.iter().find(|part| part.name.starts_with(name)).unwrap();
        let all = |name: &str| texts(&of(name).folder).unwrap().concat();
        assert!(all("aws-lc-sys ").contains("Amazon"));
        assert!(all("openh264-sys2 ").contains("Cisco"));
    }
}
