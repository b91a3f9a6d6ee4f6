//! The rules of deny.toml: which licences, crates and sources the dependencies may have, and no known vulnerability.
//!
//! cargo-deny takes long to compile, so a fresh machine does not have it. Then licences, bans and sources are judged
//! here, from the same file, and advisories are reported as not checked. `nightly` installs the tool.

mod rules;
mod tool;

use std::collections::BTreeSet;

use crate::metadata::{self, Label};
use crate::shell::root;
use crate::summary::{Outcome, Summary};

use rules::{MANIFESTS, Rules};
pub(crate) use tool::install;

/// Two rows, since advisories may be out of reach while the rest is judged.
pub(crate) fn steps(summary: &mut Summary) -> bool {
    let full = tool::exists();
    let rules_hold = summary.step("deny", || if full { tool::rules() } else { without_the_tool() });
    rules_hold & summary.step("advisories", || if full { tool::advisories() } else { not_looked_at() })
}

fn not_looked_at() -> Outcome {
    Outcome::Skipped(
        "known vulnerabilities and yanked versions were not looked for: no cargo-deny (cargo xtask deny --install)"
            .to_owned(),
    )
}

fn without_the_tool() -> Outcome {
    match judge_all() {
        Ok((count, broken)) if broken.is_empty() => Outcome::Ok(format!(
            "licences, bans and sources of {count} packages, by what their manifests say; cargo-deny is not \
             installed, so licence texts were not read"
        )),
        Ok((_, broken)) => {
            for line in &broken {
                println!("  {line}");
            }
            Outcome::Failed(format!(
                "{} rules of deny.toml are broken: {}",
                broken.len(),
                first(&broken)
            ))
        }
        Err(reason) => Outcome::Failed(reason),
    }
}

fn first(broken: &BTreeSet<String>) -> &str {
    broken.first().map_or("", String::as_str)
}

/// The number of packages, and each broken rule once.
fn judge_all() -> Result<(usize, BTreeSet<String>), String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
    let rules = Rules::read(&text)?;
    let (mut all, mut broken) = (BTreeSet::new(), BTreeSet::new());
    for manifest in MANIFESTS {
        let packages = metadata::locked(manifest)?;
        let used = used(&rules, manifest)?;
        for label in &used {
            let package = packages.get(label);
            let package = package.ok_or_else(|| format!("`cargo metadata` does not know {} {}", label.0, label.1))?;
            broken.extend(rules.broken_by(package));
        }
        all.extend(used);
    }
    Ok((all.len(), broken))
}

/// Packages that a workspace uses on any of the targets.
fn used(rules: &Rules, manifest: &str) -> Result<BTreeSet<Label>, String> {
    let mut used = BTreeSet::new();
    for target in &rules.graph.targets {
        let mut selected = vec!["--manifest-path", manifest, "--workspace", "--target", target];
        if rules.graph.all_features {
            selected.push("--all-features");
        }
        used.extend(metadata::tree(&selected)?.into_iter().map(|branch| branch.label));
    }
    Ok(used)
}

#[cfg(test)]
mod tests;
