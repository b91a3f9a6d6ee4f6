//! A real browser for the tests.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Time limit for the expected content to appear.
const PATIENCE: Duration = Duration::from_secs(120);
/// Duration of the first visit to a page; each further visit takes twice as long, up to the longest. The page's
/// picture streams never end, and on a busy machine a browser takes long to reach their beginning.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LONGEST_LOOK: Duration = Duration::from_secs(16);

/// The text of the page's elements, once it contains all of `ready`; the last text if that never happens.
pub fn page(url: &str, ready: &[&str]) -> (String, Output) {
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let output = look(url, &["--dump-dom"], |output| {
        let page = text(output);
        ready.iter().all(|words| page.contains(words))
    });
    (text(&output), output)
}

/// Runs headless Chromium on the page repeatedly until `ready` returns true.
pub fn look(url: &str, arguments: &[&str], mut ready: impl FnMut(&Output) -> bool) -> Output {
    let deadline = Instant::now() + PATIENCE;
    let mut time = FIRST_LOOK;
    loop {
        let output = open(url, arguments, time);
        if ready(&output) || Instant::now() > deadline {
            return output;
        }
        time = (2 * time).min(LONGEST_LOOK);
    }
}

fn open(url: &str, arguments: &[&str], time: Duration) -> Output {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args(["--hide-scrollbars", "--window-size=1280,800"])
        .arg(format!("--timeout={}", time.as_millis()))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .arg(url)
        .output()
        .expect("chromium does not start; `cargo xtask test` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}
