//! A real browser for the tests.

use std::net::SocketAddr;
use std::process::{Command, Output};

/// Times to look at a page: a browser gives it as soon as it is loaded, which may be before the first figures came.
const LOOKS: usize = 10;

/// The page's elements as text, once it contains all of `ready`, or as it was first if it never does.
pub fn page(address: SocketAddr, ready: &[&str]) -> (String, Output) {
    let is_ready = |page: &str| ready.iter().all(|words| page.contains(words));
    let mut looks = (0..LOOKS).map(|_| {
        let output = open(address, &["--dump-dom"]);
        (String::from_utf8_lossy(&output.stdout).into_owned(), output)
    });
    let last = looks.next().expect("a first look");
    if is_ready(&last.0) {
        last
    } else {
        looks.find(|(page, _)| is_ready(page)).unwrap_or(last)
    }
}

/// Run Chromium without a window on the page.
pub fn open(address: SocketAddr, arguments: &[&str]) -> Output {
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
        .args(["--hide-scrollbars", "--window-size=1280,800", "--timeout=4000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .arg(format!("http://{address}/"))
        .output()
        .expect("chromium does not start; `cargo xtask test` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}
