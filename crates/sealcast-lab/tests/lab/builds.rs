//! Other builds beside this one. Which is faster has no bounds here, since it depends on the machine.

use crate::output::{record, run, table};

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

#[test]
fn a_build_is_judged_beside_another_laboratory_and_both_take_turns_as_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "handshake --only memory,x25519 --handshakes 3 --bound 900% --time 600s --also";
    let (code, said) = run(words.split(' ').chain([LAB]), folder.path());
    assert_eq!(code, Some(0), "{said}");
    let other = format!("x25519 as {LAB}");
    let lines = table(&folder.path().join("table.csv"));
    for system in ["x25519", &other] {
        assert!(lines.iter().any(|line| line["system"] == system), "{system}: {said}");
    }
    let turns = record(folder.path());
    let own = |name: &str| {
        turns
            .iter()
            .filter(|turn| turn["system"] == name && turn["sample"].is_object())
            .count()
    };
    let rounds = own("x25519");
    assert!(rounds >= 8 && rounds % 2 == 0 && own(&other) == rounds, "{said}");
    let judged: Vec<&str> = said.lines().filter(|line| line.ends_with(" within |")).collect();
    assert_eq!(judged.len(), 2, "wall time and CPU time: {said}");
    assert!(
        said.contains("at most % worse, 95 %") && said.contains("ended because: every judged figure"),
        "{said}"
    );
}

#[test]
fn a_build_that_cannot_measure_is_named_and_ends_the_comparison_of_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "handshake --only memory,x25519 --handshakes 3 --time 600s --also /bin/false";
    let (code, said) = run(words.split(' '), folder.path());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("not measured: x25519 as /bin/false"), "{said}");
    assert!(record(folder.path()).len() <= 4, "no further rounds: {said}");
}

#[test]
fn a_bound_is_for_other_builds_and_what_is_no_bound_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for words in [
        "handshake --bound 3%",
        "gateway --also x --bound fast",
        "viewers --also x --time 10",
    ] {
        let (code, said) = run(words.split(' '), folder.path());
        assert_eq!(code, Some(2), "{words}: {said}");
    }
    let (code, said) = run(["records"], folder.path());
    assert!(code == Some(2) && said.contains("--program"), "{said}");
}
