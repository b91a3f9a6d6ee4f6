//! A real browser for the tests.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Time limit for the expected content to appear.
const PATIENCE: Duration = Duration::from_secs(120);
/// Duration of the first visit to a page; each further visit takes twice as long, up to the longest. The page's
/// picture streams never end, and on a busy machine a browser takes long to reach their beginning.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LONGEST_LOOK: Duration = Duration::from_secs(16);
/// Time after which a browser that has not ended by itself is killed. On a busy machine one of some hundreds never
/// ends.
const HUNG: Duration = Duration::from_secs(60);
/// Exit codes of timeout(1): the program was ended, or had to be killed.
const TIMED_OUT: [i32; 2] = [124, 137];

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
        let is_over = Instant::now() > deadline;
        let has_hung = output.status.code().is_none_or(|code| TIMED_OUT.contains(&code));
        assert!(
            !(is_over && has_hung),
            "chromium never ends; see what else the machine does"
        );
        if !has_hung && (ready(&output) || is_over) {
            return output;
        }
        time = (2 * time).min(LONGEST_LOOK);
    }
}

/// As [`look`], with a screenshot of the page in `file`. On a busy machine Chromium ends well without one now and then:
/// then it is run again.
pub fn screenshot(url: &str, file: &Path, mut ready: impl FnMut(&Output) -> bool) -> Output {
    let argument = format!("--screenshot={}", file.display());
    // There is none from an earlier run.
    let _ = std::fs::remove_file(file);
    look(url, &[&argument], |output| file.exists() && ready(output))
}

fn open(url: &str, arguments: &[&str], time: Duration) -> Output {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new("timeout")
        .args(["--kill-after=5", &HUNG.as_secs().to_string(), "chromium"])
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
        .expect("timeout(1) is part of every system");
    let ended = output.status.code().filter(|code| !TIMED_OUT.contains(code));
    assert!(
        ended.is_none_or(|code| code == 0),
        "chromium fails, or does not start; `cargo xtask test` installs it: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
