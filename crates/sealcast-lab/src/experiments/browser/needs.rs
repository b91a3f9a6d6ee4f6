//! Programs and folders that a browser's measurement needs beside this program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that names another browser, as for the tests of the page.
const OTHER_BROWSER: &str = "CHROMIUM";
const BROWSER: &str = "/usr/bin/chromium";
/// Under the folder of the web application.
const SCRIPT: &str = "scripts/measure-page.mjs";
const DRIVER: &str = "node_modules/playwright-core";

/// The programs and folders.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    web: PathBuf,
    browser: PathBuf,
}

impl Needs {
    /// With the folder `web` of a checkout; of that which this program was built from if it is empty.
    pub(super) fn new(web: &str) -> Self {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web");
        let browser = std::env::var_os(OTHER_BROWSER).filter(|path| !path.is_empty());
        Self {
            web: PathBuf::from(if web.is_empty() { own } else { web }),
            browser: browser.map_or_else(|| BROWSER.into(), PathBuf::from),
        }
    }

    /// Words for what is not there, and for how it comes there.
    pub(super) fn missing(&self) -> Option<String> {
        let web = self.web.display();
        if first_line(Path::new("node")).is_none() {
            return Some("`node --version` fails; apt-get install nodejs, or set PATH (20.19 or later)".to_owned());
        }
        if !self.script().exists() {
            return Some(format!(
                "there is no {SCRIPT} in {web}; name a checkout's folder as `web` in [settings]"
            ));
        }
        if !self.web.join(DRIVER).exists() {
            return Some(format!("there is no {DRIVER} in {web}; run `npm ci` there"));
        }
        if first_line(&self.browser).is_none() {
            let browser = self.browser.display();
            return Some(format!(
                "`{browser} --version` fails; apt-get install chromium, or set {OTHER_BROWSER}"
            ));
        }
        None
    }

    /// The versions of both programs.
    pub(super) fn versions(&self) -> String {
        let node = first_line(Path::new("node")).map(|version| format!("Node {version}"));
        [first_line(&self.browser), node]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// The script that drives the browser, as a command.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("node");
        command.arg(self.script()).env(OTHER_BROWSER, &self.browser);
        command
    }

    fn script(&self) -> PathBuf {
        self.web.join(SCRIPT)
    }
}

/// The first line of what a program says of its version; `None` if it cannot be run.
fn first_line(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let web = folder.path().display().to_string();
        let missing = |needs: &Needs| needs.missing().unwrap_or_default();
        let mut needs = Needs::new(&web);
        if first_line(Path::new("node")).is_none() {
            assert!(missing(&needs).contains("nodejs"));
            return;
        }
        assert!(missing(&needs).contains("[settings]"), "{}", missing(&needs));
        std::fs::create_dir(folder.path().join("scripts")).expect("a folder");
        std::fs::write(folder.path().join(SCRIPT), "").expect("a file");
        assert!(missing(&needs).contains("npm ci"), "{}", missing(&needs));
        std::fs::create_dir_all(folder.path().join(DRIVER)).expect("a folder");
        needs.browser = "/no/such/browser".into();
        assert!(
            missing(&needs).contains("apt-get install chromium"),
            "{}",
            missing(&needs)
        );
        assert!(first_line(Path::new("node")).is_some_and(|version| version.starts_with('v')));
    }
}
