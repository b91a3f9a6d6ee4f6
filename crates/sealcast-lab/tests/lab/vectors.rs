//! Every vector of a folder on every kernel. The folder is given in `SEALCAST_VECTORS`, or lies beside the repository.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sealcast_lab::verify::verify;
use sealcast_testkit::skips::skipped;

fn folder() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("SEALCAST_VECTORS") {
        return Some(PathBuf::from(given));
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut places = ["../shared/vectors", "../../shared/vectors"]
        .map(|place| root.join(place))
        .into_iter();
    places.find(|place| place.is_dir())
}

#[test]
fn every_vector_of_the_folder_is_met_by_every_kernel() {
    let Some(folder) = folder() else {
        skipped("no folder of vectors: name one in SEALCAST_VECTORS");
        return;
    };
    let verified = verify(&folder).expect("a folder of vectors");
    println!("{verified}");
    verified.judge().expect("no vector fails, and every file is understood");
    let mut lacking = BTreeSet::new();
    for line in &verified.lines {
        for why in &line.skipped {
            assert_eq!(why, "this processor lacks the kernel's instructions");
            lacking.insert(format!("{} {}", line.cipher, line.kernel));
        }
    }
    if !lacking.is_empty() {
        let kernels: Vec<String> = lacking.into_iter().collect();
        skipped(format_args!(
            "this processor lacks instructions of kernels: {}",
            kernels.join(", ")
        ));
    }
}
