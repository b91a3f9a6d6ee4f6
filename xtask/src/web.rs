//! Checks the page and its TypeScript peer in `web/`: types and rules, size, tests in Node and in a browser, whether
//! the program embeds what the sources give, and both against the program that was built. The page's tests are a step
//! of their own, which may run beside the others: each builds into a folder of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{command, output, root, run_whole, said_by, target_dir};
use crate::skips::Skips;
use crate::summary::Outcome;
use crate::venv;

/// Oldest Node that the tests run on (`engines` in package.json).
const OLDEST_NODE: (u32, u32) = (20, 19);
/// npm's words for what `package-lock.json` names.
const INSTALL: [&str; 3] = ["ci", "--no-audit", "--no-fund"];

/// Installs the packages that the other steps need.
pub(crate) fn packages() -> Outcome {
    npm_each(&[&INSTALL])
}

/// Installs them where they are not.
pub(crate) fn bring_packages() -> Result<(), String> {
    match root().join("web/node_modules").is_dir() {
        true => Ok(()),
        false => run_whole(&mut node()?.npm(&INSTALL)),
    }
}

/// Everything but the tests of the page.
pub(crate) fn step() -> Outcome {
    npm_each(&[
        &["run", "check"],
        &["run", "build"],
        &["test"],
        &["run", "test:browser"],
        &["run", "check:embedded"],
    ])
}

/// The tests of the page.
pub(crate) fn page() -> Outcome {
    npm_each(&[&["run", "test:page"]])
}

fn npm_each(steps: &[&[&str]]) -> Outcome {
    let npm = |node: Node| {
        let mut skips = Skips::default();
        for words in steps {
            let mut npm = node.npm(words);
            npm.env("SEALCAST", target_dir().join("debug/sealcast"));
            skips.add(Skips::of(&said_by(&mut npm)?));
        }
        Ok(skips)
    };
    Outcome::of_tests(node().and_then(npm))
}

/// Runs the page's tests with a relay. `clients` is the folder of the relay client, which the program looks for in
/// `PATH`.
pub(crate) fn through_relay(relay: &Path, clients: &Path) -> Result<(), String> {
    let node = node()?;
    run_whole(&mut node.npm(&INSTALL))?;
    let mut tests = node.npm(&["run", "test:page", "--", "relay"]);
    let before = node.0.iter().map(PathBuf::as_path).chain([clients]);
    if let Some(path) = with_path(before) {
        tests.env("PATH", path);
    }
    tests.env("SEALCAST", target_dir().join("debug/sealcast"));
    run_whole(tests.env("MOQ_RELAY", relay))
}

/// `PATH` with these folders before it. `None` if one has a colon in its name: then what is in `PATH` has to do.
pub(crate) fn with_path<'a>(folders: impl Iterator<Item = &'a Path>) -> Option<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.map(Path::to_owned).chain(std::env::split_paths(&path));
    std::env::join_paths(all).ok()
}

/// Place of Node: in `PATH`, or in a folder of our own.
struct Node(Option<PathBuf>);

impl Node {
    fn npm(&self, words: &[&str]) -> Command {
        let mut npm = match &self.0 {
            None => command("npm", words),
            Some(folder) => {
                let mut npm = command(folder.join("npm"), words);
                if let Some(path) = with_path([folder.as_path()].into_iter()) {
                    npm.env("PATH", path);
                }
                npm
            }
        };
        npm.current_dir(root().join("web"));
        npm
    }
}

/// The Node in `PATH` if it is new enough (Debian 12 has an older one), else one from the Python package index.
fn node() -> Result<Node, String> {
    let version = output(&mut command("node", &["--version"]));
    let has_npm = output(&mut command("npm", &["--version"])).is_some();
    if has_npm && version.is_some_and(|version| is_new_enough(&version)) {
        return Ok(Node(None));
    }
    let folder = target_dir().join("node");
    venv::prepare(&folder, &root().join("web").join("node.txt"))?;
    Ok(Node(Some(Path::new(&folder).join("bin"))))
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) >= OLDEST_NODE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_too_old_or_says_something_else_is_not_used() {
        for (version, fits) in [
            ("v20.19.0\n", true),
            ("v20.18.9", false),
            ("v18.20.4", false),
            ("v22.1.0", true),
            ("node", false),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), fits, "{version}");
        }
    }
}
