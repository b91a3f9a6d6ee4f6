//! The bill of materials of the program: every crate and every vendored library that its file contains, in CycloneDX.
//!
//! Two builds of the same sources have the same bill. It has a time only if `SOURCE_DATE_EPOCH` gives one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::metadata::{self, Branch, Label, Package};
use crate::shell::{self, command, compilers_target, output, root, target_dir};
use crate::summary::Outcome;

/// Version of the format.
const SPEC: &str = "1.5";

/// A library in C or C++ that a crate brings along and compiles into the program.
struct Vendored {
    inside: &'static str,
    name: &'static str,
    /// File of the crate's sources that says its version, and the words before and after it.
    version: (&'static str, &'static str, &'static str),
    license: &'static str,
    url: &'static str,
}

const VENDORED: [Vendored; 2] = [
    Vendored {
        inside: "aws-lc-sys",
        name: "AWS-LC",
        version: ("aws-lc/include/openssl/base.h", "AWSLC_VERSION_NUMBER_STRING \"", "\""),
        license: "ISC AND (Apache-2.0 OR ISC) AND Apache-2.0 AND MIT AND BSD-3-Clause",
        url: "https://github.com/aws/aws-lc",
    },
    Vendored {
        inside: "openh264-sys2",
        name: "OpenH264",
        version: ("upstream/codec/api/wels/codec_ver.h", "OpenH264 version:", "\""),
        license: "BSD-2-Clause",
        url: "https://github.com/cisco/openh264",
    },
];

/// A program and how it is built.
pub(crate) struct Build<'a> {
    /// Name of the program and of its crate.
    pub(crate) program: &'a str,
    pub(crate) target: &'a str,
    /// Crates built with one command: they share the features of their dependencies.
    pub(crate) together: &'a [&'a str],
}

/// `cargo xtask sbom`: a program as `cargo install` builds it.
pub(crate) fn step(program: &str) -> Outcome {
    let place = target_dir().join("sealcast.cdx.json");
    let written = compilers_target().and_then(|target| {
        write(
            &Build {
                program,
                target: &target,
                together: &[program],
            },
            &place,
        )
    });
    match written {
        Ok(count) => Outcome::Ok(format!("{count} components in {}", place.display())),
        Err(reason) => Outcome::Failed(reason),
    }
}

/// The packages whose code the program contains.
pub(crate) fn in_the_program(build: &Build<'_>) -> Result<Vec<Package>, String> {
    let inside = inside(&tree_of(build, "normal")?);
    let mut packages = metadata::locked(metadata::WORKSPACE)?;
    let package = |label: Label| {
        let found = packages.remove(&label);
        found.ok_or_else(|| format!("no package {} {}", label.0, label.1))
    };
    inside.into_iter().map(package).collect()
}

/// Writes the bill and returns the number of its components.
pub(crate) fn write(build: &Build<'_>, place: &Path) -> Result<usize, String> {
    let bill = bill(build)?;
    let count = bill["components"].as_array().map_or(0, Vec::len);
    shell::write(&shown(&bill)?, place)?;
    Ok(count)
}

/// The bill as text.
pub(crate) fn text(build: &Build<'_>) -> Result<String, String> {
    shown(&bill(build)?)
}

fn shown(bill: &Value) -> Result<String, String> {
    let text = serde_json::to_string_pretty(bill).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

fn bill(build: &Build<'_>) -> Result<Value, String> {
    let edges = edges(&tree_of(build, "normal,build")?);
    let inside = inside(&tree_of(build, "normal")?);
    let packages = metadata::locked(metadata::WORKSPACE)?;
    let (own, others) = edges.keys().partition::<Vec<_>, _>(|label| label.0 == build.program);
    let own = own.first().ok_or("the program is not in its own tree")?;
    let sums = checksums()?;
    let mut components = Vec::new();
    let mut depends = Vec::new();
    for label in &others {
        let package = packages
            .get(*label)
            .ok_or_else(|| format!("no package {} {}", label.0, label.1))?;
        components.push(component(package, sums.get(*label), inside.contains(*label)));
    }
    for (label, on) in &edges {
        let mut on: Vec<String> = on.iter().map(reference).collect();
        on.extend(vendored_in(&label.0).map(|library| format!("vendored:{}", library.name)));
        depends.push(json!({"ref": reference(label), "dependsOn": on}));
    }
    for (label, package) in &packages {
        for library in vendored_in(&label.0).filter(|_| inside.contains(label)) {
            components.push(vendored(library, package)?);
            depends.push(json!({"ref": format!("vendored:{}", library.name), "dependsOn": []}));
        }
    }
    let mut about = json!({
        "component": {
            "type": "application", "bom-ref": reference(own), "name": own.0, "version": own.1,
            "purl": reference(own), "licenses": [{"expression": "MIT OR Apache-2.0"}],
        },
        "properties": [
            {"name": "sealcast:target", "value": build.target},
            {"name": "sealcast:built-together", "value": build.together.join(" ")},
        ],
    });
    if let Some(time) = source_time()? {
        about["timestamp"] = time.into();
    }
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": SPEC, "version": 1,
        "metadata": about, "components": components, "dependencies": depends,
    }))
}

/// The program's tree, without the trees of what is built beside it.
fn tree_of(build: &Build<'_>, kinds: &str) -> Result<Vec<Branch>, String> {
    let mut arguments = vec!["--target", build.target, "--edges", kinds];
    for package in build.together {
        arguments.extend(["--package", package]);
    }
    let all = metadata::tree(&arguments)?;
    let from = all
        .iter()
        .position(|branch| branch.depth == 0 && branch.label.0 == build.program);
    let from = from.ok_or("`cargo tree` did not show the program")?;
    let beside = |(at, branch): &(usize, Branch)| *at == 0 || branch.depth > 0;
    let own = all.into_iter().skip(from).enumerate().take_while(beside);
    Ok(own.map(|(_, branch)| branch).collect())
}

/// Dependencies of each package.
fn edges(branches: &[Branch]) -> BTreeMap<Label, BTreeSet<Label>> {
    let mut edges: BTreeMap<Label, BTreeSet<Label>> = BTreeMap::new();
    let mut above: Vec<&Label> = Vec::new();
    for Branch { depth, label, .. } in branches {
        above.truncate(*depth);
        if let Some(parent) = above.last() {
            edges.entry((*parent).clone()).or_default().insert(label.clone());
        }
        edges.entry(label.clone()).or_default();
        above.push(label);
    }
    edges
}

/// Packages that the program's file contains, of a tree without build scripts. Macros, and what is beneath them, run in
/// the compiler alone.
fn inside(branches: &[Branch]) -> BTreeSet<Label> {
    let mut macro_at = usize::MAX;
    let mut inside = BTreeSet::new();
    for branch in branches {
        if branch.depth <= macro_at {
            macro_at = if branch.is_macro { branch.depth } else { usize::MAX };
        }
        if macro_at == usize::MAX {
            inside.insert(branch.label.clone());
        }
    }
    inside
}

/// A package URL, which names a crate for all tools alike.
fn reference(label: &Label) -> String {
    format!("pkg:cargo/{}@{}", label.0, label.1)
}

fn component(package: &Package, checksum: Option<&String>, inside: bool) -> Value {
    let label = (package.name.clone(), package.version.clone());
    let mut shown = json!({
        "type": "library", "bom-ref": reference(&label), "name": package.name, "version": package.version,
        "purl": reference(&label), "scope": if inside { "required" } else { "excluded" },
    });
    if let Some(license) = &package.license {
        // An old spelling of `OR`.
        shown["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
    }
    if let Some(checksum) = checksum {
        shown["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(url) = &package.repository {
        shown["externalReferences"] = json!([{"type": "vcs", "url": url}]);
    }
    shown
}

fn vendored_in(package: &str) -> impl Iterator<Item = &'static Vendored> {
    VENDORED.iter().filter(move |library| library.inside == package)
}

fn vendored(library: &Vendored, package: &Package) -> Result<Value, String> {
    let (file, before, after) = library.version;
    let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    let version = between(&text, before, after).ok_or_else(|| {
        format!(
            "{} says no version of {} in {file}: look where it stands now",
            package.name, library.name
        )
    })?;
    Ok(json!({
        "type": "library", "bom-ref": format!("vendored:{}", library.name), "name": library.name, "version": version,
        "scope": "required", "licenses": [{"expression": library.license}],
        "externalReferences": [{"type": "vcs", "url": library.url}],
        "properties": [{"name": "sealcast:vendored-in", "value": format!("{} {}", package.name, package.version)}],
    }))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

/// The checksums in Cargo.lock.
fn checksums() -> Result<BTreeMap<Label, String>, String> {
    let text = std::fs::read_to_string(root().join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    let lock: toml::Table = text.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock
        .get("package")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten();
    Ok(packages
        .filter_map(|package| {
            let field = |name: &str| Some(package.get(name)?.as_str()?.to_owned());
            Some(((field("name")?, field("version")?), field("checksum")?))
        })
        .collect())
}

/// The time that `SOURCE_DATE_EPOCH` gives, as text.
fn source_time() -> Result<Option<String>, String> {
    let Ok(seconds) = std::env::var("SOURCE_DATE_EPOCH") else {
        return Ok(None);
    };
    let argument = format!("--date=@{seconds}");
    let said = output(&mut command("date", &["--utc", &argument, "+%Y-%m-%dT%H:%M:%SZ"]));
    let said = said.ok_or_else(|| format!("SOURCE_DATE_EPOCH is {seconds}, not a number of seconds since 1970"))?;
    Ok(Some(said.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NAME;

    fn made() -> Value {
        let target = compilers_target().unwrap();
        bill(&Build {
            program: NAME,
            target: &target,
            together: &[NAME],
        })
        .unwrap()
    }

    fn names(bill: &Value) -> BTreeSet<String> {
        let components = bill["components"].as_array().unwrap().iter();
        components
            .map(|component| component["bom-ref"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn every_package_of_the_tree_is_in_the_bill_and_nothing_else() {
        let bill = made();
        let target = compilers_target().unwrap();
        let tree = metadata::tree(&["--package=sealcast", "--target", &target, "--edges=normal,build"]).unwrap();
        let mut expected: BTreeSet<String> = tree
            .iter()
            .filter(|branch| branch.depth > 0)
            .map(|branch| reference(&branch.label))
            .collect();
        expected.extend(VENDORED.iter().map(|library| format!("vendored:{}", library.name)));
        assert!(expected.len() > 100, "{}", expected.len());
        assert_eq!(names(&bill), expected);
        let tools = ["pkg:cargo/cc@", "pkg:cargo/serde_derive@", "pkg:cargo/syn@"];
        for component in bill["components"].as_array().unwrap() {
            let name = component["bom-ref"].as_str().unwrap();
            let is_tool = tools.iter().any(|tool| name.starts_with(tool));
            assert!(
                !is_tool || component["scope"] == "excluded",
                "{name} is not in the program"
            );
        }
    }

    #[test]
    fn two_bills_are_equal_and_hold_no_path_of_this_machine() {
        let [first, second] = [made(), made()].map(|bill| bill.to_string());
        assert_eq!(first, second);
        assert!(!first.contains(root().to_str().unwrap()));
        assert!(!first.contains("timestamp") || std::env::var_os("SOURCE_DATE_EPOCH").is_some());
    }

    #[test]
    fn crates_of_tests_are_not_in_the_bill() {
        assert!(!names(&made()).iter().any(|name| name.contains("testkit")));
    }
}
