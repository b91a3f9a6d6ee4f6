//! Output and files of `sealcast-lab attack`, in one scene.

use crate::output::{line, run, table, value};

#[test]
fn a_selection_that_leaves_everything_in_clear_is_opened_and_one_that_leaves_nothing_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = run(["attack", "--quick", "--only", "card-h264,none,all"], folder.path());
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("The cheapest selection that no attacker opened is `all`: 1 of 2 were opened"),
        "{said}"
    );
    let lines = table(&folder.path().join("table.csv"));
    let of = |system: &str, column: &str| value(line(&lines, "card-h264", system), column);
    let scores = ["known", "best_ess", "best_detail", "best_clock-errors"];
    assert_eq!(scores.map(|column| of("none", column)), [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(scores.map(|column| of("all", column)), [0.0, 0.0, 0.0, 0.5]);
    assert_eq!(of("none", "best_psnr"), 100.0);
    let page = std::fs::read_to_string(folder.path().join("attack.html")).expect("a page");
    assert!(page.contains("yes, in 1 of 1 scenes") && page.contains("no, in 1 scenes"));
    assert!(!page.contains("no picture"), "each picture of the page is there");
    for file in ["original.jpg", "viewer.jpg", "naive.jpg", "intra-leakage.mp4"] {
        let path = folder.path().join("pictures/card-h264--all").join(file);
        assert!(path.metadata().is_ok_and(|file| file.len() > 100), "{}", path.display());
    }
}
