//! The rules in deny.toml that can be judged without cargo-deny.
//!
//! A key that is not known here is an error: a rule that nobody looks at must not seem to hold.

use std::collections::HashSet;

use serde::Deserialize;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::metadata::{Package, WORKSPACE};
use crate::relay;

/// The manifests of the workspaces that the rules hold for, each with a lock file of its own.
pub(super) const MANIFESTS: [&str; 2] = [WORKSPACE, relay::MANIFEST];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub(super) graph: Graph,
    /// Judged by cargo-deny alone.
    #[serde(rename = "advisories")]
    _advisories: toml::Table,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Graph {
    pub(super) targets: Vec<String>,
    pub(super) all_features: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Licenses {
    allow: Vec<String>,
    /// For licences that cargo-deny recognises by their text.
    #[serde(rename = "confidence-threshold")]
    _confidence_threshold: f64,
    exceptions: Vec<Exception>,
    private: Private,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    allow: Vec<String>,
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Private {
    ignore: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    /// cargo-deny only warns.
    #[serde(rename = "multiple-versions")]
    _multiple_versions: Warn,
    wildcards: Deny,
    allow_wildcard_paths: bool,
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: Deny,
    unknown_git: Deny,
    allow_registry: Vec<String>,
}

/// A rule of another strictness would need other code.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Deny {
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Warn {
    Warn,
}

impl Rules {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            format!("deny.toml has a rule that only cargo-deny can judge (cargo xtask deny --install): {error}")
        })
    }

    /// Each way in which the package breaks a rule.
    pub(super) fn broken_by(&self, package: &Package) -> Vec<String> {
        let mut broken = Vec::new();
        broken.extend(self.license(package).err());
        broken.extend(self.ban(package).err());
        broken.extend(self.source(package).err());
        broken.extend(self.wildcards(package));
        broken
    }

    fn license(&self, package: &Package) -> Result<(), String> {
        if self.licenses.private.ignore && package.is_private() {
            return Ok(());
        }
        let label = package.label();
        let text = package.license.as_ref().ok_or(format!(
            "{label} names no licence: only cargo-deny can read one from its files"
        ))?;
        let expression = Expression::parse_mode(text, ParseMode::LAX)
            .map_err(|error| format!("{label}: its licence `{text}` cannot be read: {}", error.reason))?;
        let mut allowed: HashSet<&str> = self.licenses.allow.iter().map(String::as_str).collect();
        let exceptions = self.licenses.exceptions.iter();
        for exception in exceptions.filter(|exception| exception.name == package.name) {
            allowed.extend(exception.allow.iter().map(String::as_str));
        }
        match expression.evaluate(|licence: &LicenseReq| allowed.contains(licence.to_string().as_str())) {
            true => Ok(()),
            false => Err(format!("{label}: its licence `{text}` is not allowed")),
        }
    }

    fn ban(&self, package: &Package) -> Result<(), String> {
        match self.bans.deny.iter().find(|banned| banned.name == package.name) {
            Some(banned) => Err(format!("{} is banned: {}", package.label(), banned.reason)),
            None => Ok(()),
        }
    }

    fn source(&self, package: &Package) -> Result<(), String> {
        let Deny::Deny = self.sources.unknown_registry;
        let Deny::Deny = self.sources.unknown_git;
        let Some(source) = &package.source else { return Ok(()) };
        let registry = source.strip_prefix("registry+");
        match registry.is_some_and(|registry| self.sources.allow_registry.iter().any(|known| known == registry)) {
            true => Ok(()),
            false => Err(format!("{} comes from {source}, which is not allowed", package.label())),
        }
    }

    fn wildcards(&self, package: &Package) -> Vec<String> {
        let Deny::Deny = self.bans.wildcards;
        // Crates of others are locked, and a registry takes no wildcards.
        let own = package.source.is_none();
        let paths_too = !(self.bans.allow_wildcard_paths && package.is_private());
        let is_wild = |path: &Option<String>, req: &str| req == "*" && (path.is_none() || paths_too);
        let wild = package
            .dependencies
            .iter()
            .filter(|dependency| own && is_wild(&dependency.path, &dependency.req));
        wild.map(|dependency| format!("{} takes any version of {}", package.label(), dependency.name))
            .collect()
    }
}
