//! `sealcast-lab browser` where there is no browser. What it measures is tried in the nightly tests.

use crate::output::run;

#[test]
fn without_a_browser_nothing_is_measured_and_the_reason_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let built_in = include_str!("../../definitions/browser.toml");
    let own = built_in.replace("web = \"\"", "web = \"/no/such/checkout/web\"");
    assert_ne!(own, built_in);
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, own).expect("a file");
    let file = file.display().to_string();
    let (code, said) = run(["run", &file, "--quick"], &folder.path().join("out"));
    assert_eq!(code, Some(2), "{said}");
    let left_out = |system: &str| said.contains(&format!("{system} is left out: "));
    assert!(left_out("webtransport") && left_out("websocket"), "{said}");
    // Which of the two it is depends on what this machine has.
    assert!(
        said.contains("/no/such/checkout/web") || said.contains("apt-get install nodejs"),
        "{said}"
    );
}
