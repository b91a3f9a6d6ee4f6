//! `sealcast-lab papers`: a run that is stopped, goes on, and whose page is made anew.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sealcast_testkit::program::until;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

fn papers(arguments: &[&str], out: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(LAB);
    command.arg("papers").args(arguments).arg("--out").arg(out);
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

#[test]
fn a_run_that_is_stopped_goes_on_and_its_page_can_be_made_anew() {
    let out = tempfile::tempdir().expect("a folder");
    let record = out.path().join("delay/record.jsonl");
    let turns = || fs::read_to_string(&record).map_or(0, |text| text.lines().count().saturating_sub(1));
    let all = 3 * 3 * 4;
    let mut first = Command::new(LAB)
        .args(["papers", "--quick", "--only", "delay", "--out"])
        .arg(out.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    until("two turns are in the record", || turns() >= 2);
    kill_process(Pid::from_child(&first), Signal::INT).expect("it runs");
    let status = first.wait().expect("it ends");
    let (before, text) = (turns(), fs::read_to_string(&record).expect("a record"));
    // On a machine that stood still it may have been over before the signal came.
    assert_eq!(status.success(), before == all, "{before} turns");
    let page = || fs::read_to_string(out.path().join("index.html")).expect("a page");
    assert!(
        page().contains("Figure 4: Delay of text"),
        "there is a page of what was measured"
    );

    let (code, said) = papers(&["--quick", "--only", "delay"], out.path());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("experiment 1 of 1, delay: "), "{said}");
    assert!(said.contains("33 figures and tables: 3 measured"), "{said}");
    let complete = fs::read_to_string(&record).expect("a record");
    assert!(complete.starts_with(&text), "it went on with the record");
    assert_eq!(turns(), all, "no turn was measured twice");
    for file in ["report.html", "table.csv", "definition.toml"] {
        assert!(out.path().join("delay").join(file).exists(), "{file}");
    }
    let measured = page();
    fs::remove_file(out.path().join("index.html")).expect("it is there");
    let (code, said) = papers(&["--rebuild"], out.path());
    assert_eq!(code, Some(0), "{said}");
    assert!(page() == measured, "the same page, from the records alone");

    // Another measurement does not touch the record.
    let (code, said) = papers(&["--only", "delay"], out.path());
    assert!(code == Some(2) && said.contains("another definition"), "{said}");
    assert_eq!(fs::read_to_string(&record).expect("a record"), complete);
}

#[test]
fn what_does_not_exist_is_refused() {
    let out = tempfile::tempdir().expect("a folder");
    let (code, said) = papers(&["--rebuild"], out.path());
    assert!(code == Some(2) && said.contains("no record"), "{said}");
    let (code, said) = papers(&["--only", "astrology"], out.path());
    assert!(
        code == Some(2) && said.contains("astrology") && said.contains("handshake"),
        "{said}"
    );
}
