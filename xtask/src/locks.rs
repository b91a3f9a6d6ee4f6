//! Lock files of what is outside the workspace fit the manifests. Cargo tells only where the registry is at hand, and
//! what is outside is built rarely, so this is seen without it.

use std::collections::BTreeMap;

use semver::{Version, VersionReq};
use serde::Deserialize;

use crate::shell::{cargo, output, root};
use crate::summary::Outcome;

/// Folders with a lock file of their own.
const OUTSIDE: [&str; 2] = ["fuzz", "crates/sealcast-moq"];

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: Version,
    /// `None` for the project's own crates.
    source: Option<String>,
    /// Names, with a version where there are several of one.
    #[serde(default)]
    dependencies: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Manifest>,
}

#[derive(Deserialize)]
struct Manifest {
    name: String,
    version: Version,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: VersionReq,
    /// `None`, `dev` or `build`.
    kind: Option<String>,
    optional: bool,
}

pub(crate) fn step() -> Outcome {
    match OUTSIDE
        .iter()
        .map(|folder| of_folder(folder))
        .collect::<Result<Vec<_>, _>>()
    {
        Ok(found) => {
            let stale: Vec<String> = found.into_iter().flatten().collect();
            stale.iter().for_each(|finding| println!("{finding}"));
            match stale.len() {
                0 => Outcome::Ok(format!("{} beside the workspace's", OUTSIDE.len())),
                _ => Outcome::Failed("a lock file is stale: run `cargo metadata` in its folder".to_owned()),
            }
        }
        Err(why) => Outcome::Failed(why),
    }
}

fn of_folder(folder: &str) -> Result<Vec<String>, String> {
    let path = format!("{folder}/Cargo.lock");
    let text = std::fs::read_to_string(root().join(&path)).map_err(|error| format!("{path}: {error}"))?;
    let lock: Lock = toml::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    let mut manifests = manifests(&format!("{folder}/Cargo.toml"))?;
    let roots: Vec<String> = manifests.keys().cloned().collect();
    for (name, manifest) in self::manifests("Cargo.toml")? {
        manifests.entry(name).or_insert(manifest);
    }
    let stale = stale(&lock, &manifests, &roots);
    Ok(stale.into_iter().map(|finding| format!("{path}: {finding}")).collect())
}

/// The manifests of a workspace, by the names of their crates.
fn manifests(manifest: &str) -> Result<BTreeMap<String, Manifest>, String> {
    let arguments = [
        "metadata",
        "--format-version=1",
        "--no-deps",
        "--offline",
        "--manifest-path",
        manifest,
    ];
    let said = output(&mut cargo(&arguments)).ok_or_else(|| format!("`cargo {}` failed", arguments.join(" ")))?;
    let metadata: Metadata = serde_json::from_str(&said).map_err(|error| format!("what cargo said: {error}"))?;
    let named = metadata
        .packages
        .into_iter()
        .map(|package| (package.name.clone(), package));
    Ok(named.collect())
}

/// The places where a lock file does not fit the manifests of the project's own crates in it. `roots` are those that it
/// is for: of others it has no dependency of tests, and an optional one only where a feature asks for it.
fn stale(lock: &Lock, manifests: &BTreeMap<String, Manifest>, roots: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for locked in lock.package.iter().filter(|locked| locked.source.is_none()) {
        let name = &locked.name;
        let Some(manifest) = manifests.get(name) else {
            found.push(format!("{name} is no crate of the project"));
            continue;
        };
        if locked.version != manifest.version {
            found.push(format!("{name} is {}, and not {}", manifest.version, locked.version));
        }
        let is_root = roots.contains(name);
        let counts = |dependency: &&Dependency| is_root || dependency.kind.as_deref() != Some("dev");
        for dependency in manifest.dependencies.iter().filter(counts) {
            let (on, req) = (&dependency.name, &dependency.req);
            match versions(lock, locked, on) {
                versions if versions.iter().any(|version| req.matches(version)) => {}
                versions if versions.is_empty() && dependency.optional => {}
                _ => found.push(format!("{name} depends on {on} {req}, which is not there")),
            }
        }
        for on in locked.dependencies.iter().filter_map(|on| on.split(' ').next()) {
            if !manifest
                .dependencies
                .iter()
                .filter(counts)
                .any(|dependency| dependency.name == on)
            {
                found.push(format!("{name} does not depend on {on} any more"));
            }
        }
    }
    found
}

/// The versions of a dependency of a crate.
fn versions<'a>(lock: &'a Lock, of: &Locked, on: &str) -> Vec<&'a Version> {
    let named = of.dependencies.iter().filter_map(|entry| {
        let mut words = entry.split(' ');
        (words.next() == Some(on)).then(|| words.next())
    });
    let fits = |package: &&Locked, version: Option<&str>| {
        package.name == on && version.is_none_or(|version| package.version.to_string() == version)
    };
    named
        .flat_map(|version| lock.package.iter().filter(move |package| fits(package, version)))
        .map(|package| &package.version)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        [[package]]
        name = "targets"
        version = "0.0.0"
        dependencies = ["program", "digest 0.11.2", "tempfile"]
        [[package]]
        name = "program"
        version = "1.2.0"
        dependencies = ["digest 0.10.7"]
        [[package]]
        name = "digest"
        version = "0.10.7"
        source = "registry"
        [[package]]
        name = "digest"
        version = "0.11.2"
        source = "registry"
        [[package]]
        name = "tempfile"
        version = "3.1.0"
        source = "registry"
    "#;

    fn found(targets: &str, program: (&str, &str)) -> Vec<String> {
        let manifest = |name: &str, version: &str, dependencies: &str| {
            let dependency = |word: &str| {
                let parts: Vec<&str> = word.split('@').collect();
                Dependency {
                    name: parts[0].to_owned(),
                    req: parts[1].parse().unwrap(),
                    kind: (parts.get(2) == Some(&"dev")).then(|| "dev".to_owned()),
                    optional: parts.get(2) == Some(&"optional"),
                }
            };
            let manifest = Manifest {
                name: name.to_owned(),
                version: version.parse().unwrap(),
                dependencies: dependencies.split_whitespace().map(dependency).collect(),
            };
            (name.to_owned(), manifest)
        };
        let manifests = [
            manifest("targets", "0.0.0", targets),
            manifest("program", program.0, program.1),
        ];
        let lock: Lock = toml::from_str(LOCK).unwrap();
        stale(&lock, &manifests.into(), &["targets".to_owned()])
    }

    #[test]
    fn a_lock_file_that_does_not_fit_is_refused_with_what_differs() {
        let (targets, program) = ("program@* digest@0.11 tempfile@3@dev", ("1.2.0", "digest@0.10"));
        let nothing: [&str; 0] = [];
        assert_eq!(found(targets, program), nothing);
        assert_eq!(
            found(targets, ("1.2.0", "digest@0.10 loom@1@dev gst@1@optional")),
            nothing
        );
        for (targets, program, expected) in [
            (targets, ("1.3.0", "digest@0.10"), "program is 1.3.0, and not 1.2.0"),
            (
                targets,
                ("1.2.0", "digest@0.11"),
                "program depends on digest ^0.11, which is not there",
            ),
            (
                targets,
                ("1.2.0", "digest@0.10 flume@1"),
                "program depends on flume ^1, which is not there",
            ),
            (targets, ("1.2.0", ""), "program does not depend on digest any more"),
            (
                "program@* digest@0.11",
                program,
                "targets does not depend on tempfile any more",
            ),
        ] {
            assert_eq!(found(targets, program), [expected]);
        }
    }

    #[test]
    fn the_lock_files_beside_the_workspace_fit() {
        for folder in OUTSIDE {
            let nothing: [&str; 0] = [];
            assert_eq!(of_folder(folder).unwrap(), nothing, "{folder}");
        }
    }
}
