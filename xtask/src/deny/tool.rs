//! cargo-deny itself.

use std::process::{Command, Stdio};

use crate::shell::{cargo, output, run};
use crate::summary::Outcome;

use super::rules::MANIFESTS;

/// deny.toml is written for this one.
const VERSION: &str = "0.20.2";
/// Errors if it has no database, as opposed to a vulnerability found in one.
const NO_DATABASE: [&str; 2] = ["failed to fetch advisory database", "failed to load advisory database"];

pub(super) fn exists() -> bool {
    output(&mut cargo(&["deny", "--version"])).is_some()
}

/// The variable limits its dependencies to versions that our compiler supports.
pub(crate) fn install() -> Outcome {
    if exists() {
        return Outcome::Ok("cargo-deny is installed".to_owned());
    }
    let version = format!("cargo-deny@{VERSION}");
    let mut command = cargo(&["install", "--locked", &version]);
    Outcome::of(run(command.env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")))
}

pub(super) fn rules() -> Outcome {
    let mut judged = MANIFESTS
        .into_iter()
        .map(|manifest| run(check(manifest).args(["licenses", "bans", "sources"])));
    match judged.try_for_each(|judged| judged) {
        Ok(()) => Outcome::Ok("licences, bans and sources, by cargo-deny".to_owned()),
        Err(reason) => Outcome::Failed(reason),
    }
}

/// deny.toml is in a folder above each manifest, where the tool looks for it.
fn check(manifest: &str) -> Command {
    cargo(&["deny", "--locked", "--manifest-path", manifest, "check"])
}

/// A fault in one workspace says more than that another one could not be looked at.
pub(super) fn advisories() -> Outcome {
    let mut all = Outcome::Ok(String::new());
    for manifest in MANIFESTS {
        match advisories_of(manifest) {
            failed @ Outcome::Failed(_) => return failed,
            Outcome::Ok(_) if matches!(all, Outcome::Skipped(_)) => {}
            outcome => all = outcome,
        }
    }
    all
}

fn advisories_of(manifest: &str) -> Outcome {
    println!("$ cargo deny --locked --manifest-path {manifest} check advisories");
    let output = match check(manifest).arg("advisories").stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return Outcome::Failed(format!("cargo-deny did not start: {error}")),
    };
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{said}");
    judge(output.status.success(), &said)
}

fn judge(success: bool, said: &str) -> Outcome {
    if success {
        return Outcome::Ok("no known vulnerability, no yanked version".to_owned());
    }
    match NO_DATABASE.iter().find(|words| said.contains(**words)) {
        Some(words) => Outcome::Skipped(format!(
            "known vulnerabilities and yanked versions were not looked for: cargo-deny {words} (is the network up?)"
        )),
        None => Outcome::Failed("`cargo deny check advisories` names faults above".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_database_is_no_success_and_a_vulnerability_is_a_failure() {
        let missing = "[ERROR] failed to fetch advisory database https://example.org: no route";
        assert!(matches!(judge(false, missing), Outcome::Skipped(_)));
        assert!(matches!(
            judge(false, "error[vulnerability]: heap overflow"),
            Outcome::Failed(_)
        ));
        assert!(matches!(judge(true, "advisories ok"), Outcome::Ok(_)));
    }
}
