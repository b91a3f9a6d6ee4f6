//! Output and files of `sealcast-lab groups`. Times have no bounds here, since they depend on the machine.

use std::path::Path;
use std::process::{Command, Output};

use crate::output::{line, table, value};

fn groups(arguments: &[&str], out: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"));
    command.args(["groups", "--meter", "none"]).args(arguments);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

#[test]
fn a_quick_run_has_every_part_and_loses_no_frame_to_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = groups(&["--quick", "--rounds", "1"], Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&folder.path().join("table.csv"));
    let line = |case, system| line(&lines, case, system);
    for mechanism in ["x25519-mlkem768", "x25519"] {
        let [pair, group] = ["members-2", "members-3"].map(|case| line(case, mechanism));
        assert_eq!(value(group, "group_bytes"), 2.0 * value(pair, "group_bytes"));
        assert!(value(group, "cpu_times_model") > 0.0 && value(group, "rekey_leader_us") > 0.0);
    }
    for case in ["leave-10", "leave-1000", "crowd-100", "churn-100"] {
        let session = line(case, "session");
        assert!(value(session, "frames") > 0.0, "{session:?}");
        assert_eq!(value(session, "frames_lost"), 0.0, "{session:?}");
    }
    // groups.md §7 names the bytes of a leave.
    let leave = line("leave-1000", "session");
    assert!((1000.0..2000.0).contains(&value(leave, "sheet_bytes")), "{leave:?}");
    assert!(value(leave, "refused") > 0.0, "the removed try");
    let keys = line("keys-10", "sealcast");
    assert!(
        value(keys, "add_bytes") > value(keys, "remove_bytes"),
        "a handshake: {keys:?}"
    );
    assert!(value(line("viewers-4", "sealed-each"), "fan_out_times") > 0.0);
    let signed = line("signing", "sign-frame");
    assert!(value(signed, "frame_bytes") > value(line("signing", "sign-off"), "frame_bytes"));
}

#[cfg(not(feature = "mls"))]
#[test]
fn a_build_without_mls_says_how_to_get_it() {
    let (code, said) = groups(&["--quick", "--only", "keys-10,sealcast,mls"], None);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("mls is left out: ") && said.contains("--features mls"),
        "{said}"
    );
}

#[cfg(feature = "mls")]
#[test]
fn mls_does_the_same_and_sends_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = groups(&["--quick", "--only", "keys-10,sealcast,mls"], Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&folder.path().join("table.csv"));
    let mls = lines
        .iter()
        .find(|line| line["system"] == "mls")
        .expect("it was measured");
    for operation in ["create", "add", "remove", "rekey"] {
        assert!(value(mls, &format!("{operation}_bytes_times")) > 1.0, "{mls:?}");
    }
}

#[test]
fn what_does_not_exist_is_named() {
    let (code, said) = groups(&["--only", "leave-7"], None);
    assert!(code == Some(2) && said.contains("leave-7"), "{said}");
    let (code, said) = groups(&["--quick", "--only", "leave-10,sealed-once"], None);
    assert!(code == Some(2) && said.contains("nothing to measure"), "{said}");
}
