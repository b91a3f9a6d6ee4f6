//! The programs that cargo builds along with the tests.

use std::path::{Path, PathBuf};

/// The path of `sealcast` or `sealcast-lab`, built with the profile of the running test.
///
/// # Panics
/// The program does not exist. Cargo builds programs automatically only for tests of the same package.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    // Tests are in `deps`, programs in its parent folder.
    let folder = test.parent().and_then(Path::parent).expect("a folder of the profile");
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "there is no {}: `cargo build --workspace`, with the profile of this test, builds it",
        program.display()
    );
    program
}
