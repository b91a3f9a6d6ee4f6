//! Output and files of `sealcast-lab viewers`. Times have no bounds here, since they depend on the machine.

use sealcast_testkit::media;

use crate::output::{line, record, run, table, value};

#[test]
fn a_quick_run_measures_each_way_of_sending_to_viewers() {
    let folder = tempfile::tempdir().expect("a folder");
    let clip = media::clip(media::STREET, folder.path());
    let arguments = ["viewers", "--quick", "--rounds", "1", "--clip", media::path(&clip)];
    let (code, said) = run(arguments, folder.path());
    assert_eq!(code, Some(0), "{said}");
    let turns = record(folder.path()).len() - 1;
    assert!(
        turns >= 13,
        "four systems in three cases, and one beside relays: {said}"
    );
    let lines = table(&folder.path().join("table.csv"));
    for case in ["tcp-1", "tcp-4", "udp-4"] {
        for system in ["group", "unsigned", "alone", "plain"] {
            let line = line(&lines, case, system);
            let known = [
                "viewer_us",
                "frame_us",
                "core_percent",
                "fps",
                "least_fps",
                "p50_ms",
                "p99_ms",
            ];
            assert!(known.iter().all(|column| value(line, column) > 0.0), "{line:?}");
        }
        let group = line(&lines, case, "group");
        assert!(
            value(group, "times_plain") > 0.0 && value(group, "times_alone") > 0.0,
            "{group:?}"
        );
    }
}

#[test]
fn what_does_not_exist_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = run(["viewers", "--only", "tcp-7"], folder.path());
    assert!(code == Some(2) && said.contains("tcp-7"), "{said}");
    let (code, said) = run(["viewers", "--clip", "/nonexistent.mp4"], folder.path());
    assert!(code == Some(3) && said.contains("/nonexistent.mp4"), "{said}");
}
