//! The programs that cargo builds beside the tests.

use std::path::{Path, PathBuf};

/// The path of `sealcast` or `sealcast-lab`, as it was built with the profile of the running test.
///
/// # Panics
/// If it is not there. Cargo builds a program by itself for the tests of its own package only.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    // Tests are in `deps`, programs in the folder above it.
    let folder = test.parent().and_then(Path::parent).expect("a folder of the profile");
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "there is no {}: `cargo build --workspace`, with the profile of this test, builds it",
        program.display()
    );
    program
}
