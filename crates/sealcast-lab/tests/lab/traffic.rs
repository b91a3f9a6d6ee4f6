//! Output and files of `sealcast-lab traffic`. Whether attackers win has no bounds here, since on a busy machine frames
//! come when they can: that is for unit tests on frames that no machine delayed.

use serde_json::Value;

use crate::output::{record, run, table, value};

fn series(turn: &Value, name: &str) -> Vec<f64> {
    let values = turn["sample"]["series"][name].as_array();
    values.into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// The share of pairs in which the first is greater; ties count half.
fn in_order(with: &[f64], without: &[f64]) -> f64 {
    let pairs = with.iter().flat_map(|a| without.iter().map(move |b| (a, b)));
    let won = pairs.map(|(a, b)| {
        if a > b {
            1.0
        } else if a == b {
            0.5
        } else {
            0.0
        }
    });
    won.sum::<f64>() / (with.len() * without.len()) as f64
}

#[test]
fn a_tapped_stream_and_a_drawn_trace_are_attacked_and_the_figures_follow_from_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "traffic",
        "--quick",
        "--only",
        "flicker,quality,noise",
        "--rounds",
        "1",
        "--seconds",
        "9.6",
    ];
    let (code, said) = run(arguments, folder.path());
    assert_eq!(code, Some(0), "{said}");
    let turns = record(folder.path());
    assert_eq!(turns.len(), 3, "a header, and two turns: {said}");
    let lines = table(&folder.path().join("table.csv"));
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let turn = turns
            .iter()
            .find(|turn| turn["system"] == line["system"])
            .expect("a turn");
        let (with, without) = (series(turn, "with"), series(turn, "without"));
        assert_eq!((with.len(), without.len()), (2, 2), "{turn}");
        assert_eq!(value(line, "windows"), 4.0);
        assert!(
            (value(line, "auc") - in_order(&with, &without)).abs() < 1e-6,
            "{line:?}"
        );
        let (low, high) = (value(line, "auc_low"), value(line, "auc_high"));
        assert!(0.0 <= low && low <= value(line, "auc") && value(line, "auc") <= high && high <= 1.0);
        let real = line["system"] == "quality";
        assert_eq!(line["bytes_a_second"].is_empty(), !real, "{line:?}");
        if real {
            assert!(value(line, "bytes_a_second") > 100.0 && value(line, "delay_p50_ms") > 0.0);
            assert!(!series(turn, "keyframe_bytes").is_empty(), "{turn}");
        }
    }
    assert!(
        said.contains("flicker, noise: AUC of the attacker of an interval that holds 0.500"),
        "{said}"
    );
    let left = |kind: &str| {
        let files = std::fs::read_dir(folder.path().join("runs")).expect("a folder");
        files
            .filter_map(Result::ok)
            .filter(|file| file.path().extension().is_some_and(|own| own == kind))
            .count()
    };
    assert_eq!(left("y4m"), 0, "scenes are large, and are removed");
}
